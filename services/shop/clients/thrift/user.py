"""The accounts as a Thrift client sees them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import asdict

from shop.clients.ports import Page
from shop.clients.thrift.channel import ThriftPeer
from shop.messages.structs import user_struct
from shop.messages.user import login_from, user_from
from shop.platform.thrift.encoding import build
from shop.stubs.thrift import ttypes as t
from shop.values.user import Address, LoginResult, User


class ThriftUserClient:
    """`shop.clients.ports.UserClient` over Thrift."""

    def __init__(self, peer: ThriftPeer) -> None:
        self._call = peer.call

    async def login(self, email: str, password: str) -> LoginResult:
        return login_from(await self._call("Login", build(t.LoginRequest, email=email, password=password)))

    async def get_user(self, user_id: int) -> User:
        return user_from(await self._call("GetUser", build(t.GetUserRequest, id=user_id)))

    async def batch_get_users(self, ids: Sequence[int]) -> list[User]:
        response = await self._call("BatchGetUsers", build(t.BatchGetUsersRequest, ids=list(ids)))
        return [user_from(user) for user in response.users]

    async def list_users(self, *, page_size: int = 0, page_token: str = "") -> Page[User]:
        request = build(t.ListUsersRequest, page_size=page_size, page_token=page_token)
        response = await self._call("ListUsers", request)
        return Page(tuple(user_from(user) for user in response.users), response.next_page_token)

    async def create_user(self, *, email: str, name: str, address: Address, password: str) -> User:
        new = build(t.User, "user.", email=email, name=name, address=_address(address))
        return user_from(await self._call("CreateUser", build(t.CreateUserRequest, user=new, password=password)))

    async def update_user(
        self,
        user_id: int,
        *,
        name: str | None = None,
        address: Address | None = None,
        expected: User | None = None,
    ) -> User:
        there = _address(address) if address is not None else None
        new = build(t.User, "user.", id=user_id, name=name, address=there)
        mask = [field for field, value in (("name", name), ("address", address)) if value is not None]
        request = build(t.UpdateUserRequest, user=new, update_mask=mask, expected=_encode_expected(expected))
        return user_from(await self._call("UpdateUser", request))

    async def delete_user(self, user_id: int, *, expected: User | None = None) -> None:
        await self._call("DeleteUser", build(t.DeleteUserRequest, id=user_id, expected=_encode_expected(expected)))


def _encode_expected(user: User | None) -> t.User | None:
    return user_struct(user) if user is not None else None


def _address(address: Address) -> t.Address:
    return build(t.Address, "user.address.", **asdict(address))
