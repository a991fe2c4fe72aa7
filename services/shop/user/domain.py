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


@dataclass(frozen=True, slots=True)
class NewUser:
    """A user before it has an id."""

    email: str
    name: str
    address: Address


@dataclass(frozen=True, slots=True)
class UserChange:
    """New values of a user's fields; None leaves a field as it is."""

    name: str | None = None
    address: Address | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing would change."""
        return self == UserChange()


@dataclass(frozen=True, slots=True)
class Credentials:
    """A user together with the hash of the password."""

    user: User
    password_hash: str


def canonical_email(email: str) -> str:
    """Returns an e-mail address as it is stored and looked up: nobody tells two customers apart by case."""
    return email.lower()
