"""Customers, as services and clients tell each other of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from shop.fields import Id, documented


@dataclass(frozen=True, slots=True)
class Address:
    """Where parcels of a user go."""

    recipient: str
    street: str
    city: str
    postal_code: str
    country_code: Annotated[str, documented("ISO 3166-1 alpha-2 code.")]


@dataclass(frozen=True, slots=True)
class User:
    """A customer of the shop."""

    id: Id
    email: str
    name: str
    address: Address


@dataclass(frozen=True, slots=True)
class LoginResult:
    """What a successful login gives."""

    token: Annotated[str, documented("Send it as `Authorization: Bearer <token>`; it is valid for one hour.")]
    user: User
