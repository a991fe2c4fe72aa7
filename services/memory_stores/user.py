"""The accounts in memory, filled from their table: they show what a call costs without its database."""

from __future__ import annotations

import math
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from cachetools import TLRUCache
from msgspec.structs import asdict, replace

from memory_stores.loading import in_memory
from shop.platform.database.pool import Connection
from shop.user.domain import Credentials, NewUser, UserChange
from shop.user.postgres import COLUMNS, email_digest, user_of
from shop.values.user import User

ACCOUNTS = f"SELECT {COLUMNS}, password_hash FROM account ORDER BY id"  # noqa: S608 - a list of columns


class MemoryUserStore:
    """The accounts' table in one process; at the start, no login has failed.

    The order and payment services have their own rows in memory, so they do not learn of deleted accounts. For them, an
    account is gone only if it was gone at the start.

    Attributes:
        failures: By the digest of an e-mail address: the number of failed logins, and when they are forgotten, on the
            monotonic clock, s.
    """

    def __init__(self, accounts: Iterable[tuple[User, str]] = ()) -> None:
        self._users: dict[int, User] = {}
        self._hashes: dict[int, str] = {}
        self._of_email: dict[str, int] = {}
        for user, password_hash in accounts:
            self._insert(user, password_hash)
        self._ids = sorted(self._users)
        self._last_id = self._ids[-1] if self._ids else 0
        self.failures = TLRUCache[bytes, tuple[int, float]](math.inf, lambda _address, known, _now: known[1])

    @classmethod
    async def load(cls, connection: Connection) -> MemoryUserStore:
        return cls((user_of(row), row["password_hash"]) for row in await connection.fetch(ACCOUNTS))

    async def get(self, user_id: int) -> User | None:
        return self._users.get(user_id)

    async def credentials(self, email: str) -> Credentials:
        failures, _ = self.failures.get(email_digest(email), (0, 0.0))
        user_id = self._of_email.get(email)
        if user_id is None:
            return Credentials(None, None, failures)
        return Credentials(self._users[user_id], self._hashes[user_id], failures)

    async def note_failure(self, email: str, seconds: float) -> int:
        digest = email_digest(email)
        count, expires = self.failures.get(digest, (0, time.monotonic() + seconds))
        self.failures[digest] = (count + 1, expires)
        return count + 1

    async def forget_failures(self, email: str, maximum: int) -> bool:
        if (await self.credentials(email)).failures >= maximum:
            return False
        self.failures.pop(email_digest(email), None)
        return True

    async def batch_get(self, ids: Sequence[int]) -> list[User]:
        return [self._users[user_id] for user_id in ids if user_id in self._users]

    async def page(self, *, after: int, limit: int) -> list[User]:
        start = bisect_right(self._ids, after)
        return [self._users[user_id] for user_id in self._ids[start : start + limit]]

    async def add(self, user: NewUser, password_hash: str) -> User | None:
        if user.email in self._of_email:
            return None
        self._last_id += 1
        added = User(self._last_id, user.email, user.name, user.address)
        self._insert(added, password_hash)
        self._ids.append(added.id)
        return added

    async def change(self, user_id: int, change: UserChange, expected: User | None) -> User | None:
        user = self._users.get(user_id)
        if user is None or expected not in (None, user):
            return None
        changes = {name: value for name, value in asdict(change).items() if value is not None}
        self._users[user_id] = changed = replace(user, **changes)
        return changed

    async def delete(self, user_id: int, expected: User | None) -> bool:
        user = self._users.get(user_id)
        if user is None or expected not in (None, user):
            return False
        del self._users[user_id]
        del self._hashes[user_id], self._of_email[user.email], self._ids[bisect_left(self._ids, user_id)]
        return True

    def _insert(self, user: User, password_hash: str) -> None:
        self._users[user.id] = user
        self._hashes[user.id] = password_hash
        self._of_email[user.email] = user.id


open_store = in_memory(MemoryUserStore.load)
