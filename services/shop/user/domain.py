"""Customers: their rules, without any I/O."""

from __future__ import annotations

import re

from msgspec import Struct

from shop.errors import InvalidArgument
from shop.values.user import Address, User

_EMAIL = re.compile(r"[!-?A-~]+@[!-?A-~]+")
"""The form of an e-mail address: ASCII characters from "!" to "~", with one @ in between."""


class NewUser(Struct, frozen=True, gc=False):
    """A user before it has an id."""

    email: str
    name: str
    address: Address


class UserChange(Struct, frozen=True, gc=False):
    """New values of a user's fields; None leaves a field as it is."""

    name: str | None = None
    address: Address | None = None


class Credentials(Struct, frozen=True, gc=False):
    """The data for checking a login.

    Attributes:
        user: The user with that e-mail address; None if there is no such user.
        password_hash: Hash of the password; None if there is no user.
        failures: Number of recent failed logins with this address, whether it belongs to a user or not.
    """

    user: User | None
    password_hash: str | None
    failures: int


def canonical_email(email: str, field: str) -> str:
    """Returns an e-mail address as it is stored and looked up: addresses that differ only in case are the same.

    All programs and databases convert ASCII to lower case in the same way, but not other characters.

    Raises:
        InvalidArgument: The text does not have the form of an address, or has characters beyond ASCII.
    """
    if not _EMAIL.fullmatch(email):
        raise InvalidArgument(
            f"{field} must be an e-mail address of printable ASCII characters, such as ada@example.com", field=field
        )
    return email.lower()
