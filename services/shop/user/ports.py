"""What the accounts need from their database and from a password hash."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from shop.user.domain import Credentials, NewUser, UserChange
from shop.values.user import User


class UserStore(Protocol):
    """The accounts' table; e-mail addresses are in their canonical form."""

    async def get(self, user_id: int) -> User | None:
        """Returns one user."""

    async def credentials(self, email: str) -> Credentials:
        """Returns the data for checking a login with an e-mail address."""

    async def note_failure(self, email: str, seconds: float) -> int:
        """Counts a failed login with an e-mail address; returns the count, which expires `seconds` after the first."""

    async def forget_failures(self, email: str, maximum: int) -> bool:
        """Resets the count of an e-mail address if the count is below `maximum`; returns whether it was below."""

    async def batch_get(self, ids: Sequence[int]) -> list[User]:
        """Returns the users that exist, in any order, with one query."""

    async def page(self, *, after: int, limit: int) -> list[User]:
        """Returns users with ids above `after`, by ascending id."""

    async def add(self, user: NewUser, password_hash: str) -> User | None:
        """Adds a user; returns None if the e-mail address is taken."""

    async def change(self, user_id: int, change: UserChange, expected: User | None) -> User | None:
        """Changes a user; returns None if the user does not exist, or differs from a given `expected`."""

    async def delete(self, user_id: int, expected: User | None) -> bool:
        """Removes a user, and records the id as deleted; returns False for no user, or one unlike `expected`."""


class PasswordHasher(Protocol):
    """Turns passwords into hashes that can be checked but not reversed."""

    async def hash(self, password: str) -> str:
        """Returns a hash with a fresh salt."""

    async def verify(self, password_hash: str | None, password: str) -> bool:
        """Returns whether a password matches a hash; without a hash, takes as long and returns False."""
