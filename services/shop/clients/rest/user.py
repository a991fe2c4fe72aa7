"""The accounts as a REST client sees them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from shop.clients.ports import Page
from shop.clients.rest.channel import RestPeer, listed, optional
from shop.values.user import Address, LoginResult, User

_ID = {"user_id": "id"}
_NEW = {name: f"user.{name}" for name in ("email", "name", "address", "address.")}
_CHANGE = {**_NEW, "": "update_mask", "user_id": "user.id"}


class _Users(msgspec.Struct):
    users: tuple[User, ...]
    next_page_token: str


class RestUserClient(RestPeer):
    """`shop.clients.ports.UserClient` over REST."""

    async def login(self, email: str, password: str) -> LoginResult:
        return await self.send(LoginResult, "POST", "/v1/sessions", body={"email": email, "password": password})

    async def get_user(self, user_id: int) -> User:
        return await self.get(User, "/v1/users/{user_id}", user_id, fields=_ID)

    async def batch_get_users(self, ids: Sequence[int]) -> list[User]:
        return list((await self.get(_Users, "/v1/users", query={"ids": listed(ids)})).users)

    async def list_users(self, *, page_size: int = 0, page_token: str = "") -> Page[User]:
        query = {"page_size": optional(page_size, 0), "page_token": optional(page_token, "")}
        page = await self.get(_Users, "/v1/users", query=query)
        return Page(page.users, page.next_page_token)

    async def create_user(self, *, email: str, name: str, address: Address, password: str) -> User:
        new = {"email": email, "name": name, "address": address, "password": password}
        return await self.send(User, "POST", "/v1/users", body=new, fields=_NEW)

    async def update_user(
        self,
        user_id: int,
        *,
        name: str | None = None,
        address: Address | None = None,
        expected: User | None = None,
    ) -> User:
        change = {field: value for field, value in (("name", name), ("address", address)) if value is not None}
        headers = await self.if_match(expected, "/v1/users/{user_id}", user_id, kind="user")
        return await self.send(
            User, "PATCH", "/v1/users/{user_id}", user_id, body=change, headers=headers, fields=_CHANGE
        )

    async def delete_user(self, user_id: int, *, expected: User | None = None) -> None:
        headers = await self.if_match(expected, "/v1/users/{user_id}", user_id, kind="user")
        await self.send(type(None), "DELETE", "/v1/users/{user_id}", user_id, headers=headers, fields=_ID)
