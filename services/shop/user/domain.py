"""Customers: their rules, without any input or output."""

from __future__ import annotations

import re

from msgspec import Struct

from shop.errors import InvalidArgument
from shop.values.user import Address, User

_EMAIL = re.compile(r"[!-?A-~]+@[!-?A-~]+")
"""The form of an e-mail address: ASCII from "!" to "~", once with an @ between."""


class NewUser(Struct, frozen=True, gc=False):
    """A user before it has an id."""

    email: str
    name: str
    address: Address


class UserChange(Struct, frozen=True, gc=False):
    """New values of a user's fields; None leaves a field as it is."""

    name: str | None = None
    address: Address | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing would change."""
        return self == UserChange()


class Credentials(Struct, frozen=True, gc=False):
    """What a login is checked against.

    Attributes:
        user: Whose e-mail address it is; None if nobody's.
        password_hash: Hash of the password; None if there is no user.
        failures: How many logins with this address have failed of late, whether it is somebody's or not.
    """

    user: User | None
    password_hash: str | None
    failures: int


def canonical_email(email: str, field: str) -> str:
    """Returns an e-mail address as it is stored and looked up: two addresses that differ in case only are one.

    Every program and every database lower-cases ASCII alike, which is not so beyond ASCII.

    Raises:
        InvalidArgument: It does not have the form of an address, or has characters beyond ASCII.
    """
    if not _EMAIL.fullmatch(email):
        raise InvalidArgument(
            f"{field} must be an e-mail address of printable ASCII characters, as ada@example.com", field=field
        )
    return email.lower()
