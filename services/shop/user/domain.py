"""Customers: their types and rules, without any input or output."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Address:
    """A postal address; `country_code` is ISO 3166-1 alpha-2."""

    recipient: str
    street: str
    city: str
    postal_code: str
    country_code: str


@dataclass(frozen=True, slots=True)
class User:
    """A customer of the shop."""

    id: int
    email: str
    name: str
    address: Address


@dataclass(frozen=True, slots=True)
class LoginResult:
    """What a successful login gives: a signed token, valid for one hour, and who logged in."""

    token: str
    user: User
