"""The accounts' table behind a cache, which returns users by their ids."""

from __future__ import annotations

from collections.abc import Sequence

from shop.platform.cache.entries import Entries
from shop.user.domain import UserChange
from shop.user.ports import UserStore
from shop.values.user import User


class CachedUserStore:
    """The accounts' table; logins and pages bypass the cache, and password hashes are never in the cache."""

    def __init__(self, store: UserStore, users: Entries[User]) -> None:
        self._store = store
        self._users = users
        self.credentials, self.note_failure = store.credentials, store.note_failure
        self.forget_failures, self.page, self.add = store.forget_failures, store.page, store.add

    async def get(self, user_id: int) -> User | None:
        users = await self._users.read([user_id], self._get)
        return users[0] if users else None

    async def batch_get(self, ids: Sequence[int]) -> list[User]:
        return await self._users.read(ids, self._store.batch_get)

    async def change(self, user_id: int, change: UserChange, expected: User | None) -> User | None:
        try:
            return await self._store.change(user_id, change, expected)
        finally:
            # A change that failed for the caller may still have been committed.
            await self._users.remove([user_id])

    async def delete(self, user_id: int, expected: User | None) -> bool:
        try:
            return await self._store.delete(user_id, expected)
        finally:
            await self._users.remove([user_id])

    async def _get(self, ids: Sequence[int]) -> Sequence[User]:
        user = await self._store.get(ids[0])
        return [] if user is None else [user]
