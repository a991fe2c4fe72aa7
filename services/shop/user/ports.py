"""What the accounts need of their database and of a password hash."""

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
        """Returns what a login with an e-mail address is checked against."""

    async def note_failure(self, email: str, seconds: float) -> int:
        """Counts a failed login of an e-mail address, until some seconds after the first one; returns the count."""

    async def forget_failures(self, email: str, most: int) -> bool:
        """Ends the count of an e-mail address, unless it has reached `most`; returns whether it had not."""

    async def batch_get(self, ids: Sequence[int]) -> list[User]:
        """Returns the users that exist, in any order, by one query."""

    async def page(self, *, after: int, limit: int) -> list[User]:
        """Returns users with a greater id, by ascending id."""

    async def add(self, user: NewUser, password_hash: str) -> User | None:
        """Adds a user; None if the e-mail address is taken."""

    async def change(self, user_id: int, change: UserChange, expected: User | None) -> User | None:
        """Changes a user; None if there is none, or another one than `expected` if that is given."""

    async def delete(self, user_id: int, expected: User | None) -> bool:
        """Removes a user, and notes the id as deleted; False if there is none, or another one than `expected`."""


class PasswordHasher(Protocol):
    """Turns passwords into hashes that can be checked but not turned back."""

    async def hash(self, password: str) -> str:
        """Returns a hash with a salt of its own."""

    async def verify(self, password_hash: str | None, password: str) -> bool:
        """Whether a password belongs to a hash; takes as long, and says False, where there is no hash."""
