"""Customers, as services and clients exchange them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from shop.fields import Id, describe


class Address(Struct, frozen=True, gc=False):
    """Where parcels of a user go."""

    recipient: str
    street: str
    city: str
    postal_code: str
    country_code: Annotated[str, describe("ISO 3166-1 alpha-2 code.")]


class User(Struct, frozen=True, gc=False):
    """A customer of the shop."""

    id: Id
    email: str
    name: str
    address: Address


class LoginResult(Struct, frozen=True, gc=False):
    """What a successful login gives."""

    token: Annotated[str, describe("Send it as `Authorization: Bearer <token>`; it is valid for one hour.")]
    user: User
