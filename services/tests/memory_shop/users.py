"""Customers in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from memory_shop.store import MemoryService, Store, check_batch, check_id, decode_token, page_of
from memory_shop.store import page_size as sized
from shop.clients.ports import Page
from shop.errors import AlreadyExists, InvalidArgument, NotFound, Unauthenticated
from shop.user.domain import Address, LoginResult, User


class MemoryUsers(MemoryService):
    """`UserClient` over the store.

    Args:
        store: The tables.
        sign: Makes the token of a user id.
    """

    def __init__(self, store: Store, sign: Callable[[int], str]) -> None:
        super().__init__(store)
        self._sign = sign

    async def login(self, email: str, password: str) -> LoginResult:
        await self.called("login")
        for user in self.store.users.values():
            if user.email == email and self.store.passwords.get(user.id) == password:
                return LoginResult(self._sign(user.id), user)
        raise Unauthenticated("e-mail and password do not match")

    async def get_user(self, user_id: int) -> User:
        await self.called("get_user")
        check_id(user_id, "id")
        return self._user(user_id)

    async def batch_get_users(self, ids: Sequence[int]) -> list[User]:
        await self.called("batch_get_users")
        users = self.store.users
        return [users[id_] for id_ in check_batch(ids, "ids") if id_ in users]

    async def list_users(self, *, page_size: int = 0, page_token: str = "") -> Page[User]:
        await self.called("list_users")
        size = sized(page_size, 20, 1000)
        after = decode_token(page_token, "users")
        found = [user for id_, user in sorted(self.store.users.items()) if id_ > after]
        return page_of(found, size, "users", lambda user: user.id)

    async def create_user(self, *, email: str, name: str, address: Address, password: str) -> User:
        await self.called("create_user")
        if any(user.email == email for user in self.store.users.values()):
            raise AlreadyExists(f"there is a user with the e-mail {email}", field="email")
        user = User(max(self.store.users, default=0) + 1, email, name, address)
        self.store.users[user.id] = user
        self.store.passwords[user.id] = password
        return user

    async def update_user(self, user_id: int, *, name: str | None = None, address: Address | None = None) -> User:
        await self.called("update_user")
        if name is None and address is None:
            raise InvalidArgument("nothing to change; give at least one of name, address", field="update_mask")
        user = self._user(user_id)
        user = replace(user, name=user.name if name is None else name, address=address or user.address)
        self.store.users[user_id] = user
        return user

    async def delete_user(self, user_id: int) -> None:
        await self.called("delete_user")
        self._user(user_id)
        del self.store.users[user_id]
        self.store.passwords.pop(user_id, None)

    def _user(self, user_id: int) -> User:
        user = self.store.users.get(user_id)
        if user is None:
            raise NotFound(f"there is no user {user_id}", field="id")
        return user
