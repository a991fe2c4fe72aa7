"""The accounts as a gRPC client sees them."""

from __future__ import annotations

from collections.abc import Sequence

import grpc.aio
from google.protobuf.field_mask_pb2 import FieldMask
from msgspec.structs import asdict

from shop.clients.ports import Page
from shop.messages.shared import build
from shop.messages.user import login_from, user_from, user_message
from shop.platform.grpc.client import Peer
from shop.stubs import address_pb2, user_pb2_grpc
from shop.stubs import user_pb2 as pb
from shop.values.user import Address, LoginResult, User


class GrpcUserClient:
    """`shop.clients.ports.UserClient` over gRPC."""

    def __init__(self, peer: Peer, channel: grpc.aio.Channel) -> None:
        self._peer = peer
        self._stub = user_pb2_grpc.UserServiceStub(channel)

    async def login(self, email: str, password: str) -> LoginResult:
        request = build(pb.LoginRequest, email=email, password=password)
        return login_from(await self._peer.unary(self._stub.Login, "Login", request))

    async def get_user(self, user_id: int) -> User:
        return user_from(await self._peer.unary(self._stub.GetUser, "GetUser", build(pb.GetUserRequest, id=user_id)))

    async def batch_get_users(self, ids: Sequence[int]) -> list[User]:
        request = build(pb.BatchGetUsersRequest, ids=ids)
        response = await self._peer.unary(self._stub.BatchGetUsers, "BatchGetUsers", request)
        return [user_from(user) for user in response.users]

    async def list_users(self, *, page_size: int = 0, page_token: str = "") -> Page[User]:
        request = build(pb.ListUsersRequest, page_size=page_size, page_token=page_token)
        response = await self._peer.unary(self._stub.ListUsers, "ListUsers", request)
        return Page(tuple(user_from(user) for user in response.users), response.next_page_token)

    async def create_user(self, *, email: str, name: str, address: Address, password: str) -> User:
        new = build(pb.User, "user.", email=email, name=name, address=_address_argument(address))
        request = build(pb.CreateUserRequest, user=new, password=password)
        return user_from(await self._peer.unary(self._stub.CreateUser, "CreateUser", request))

    async def update_user(
        self,
        user_id: int,
        *,
        name: str | None = None,
        address: Address | None = None,
        expected: User | None = None,
    ) -> User:
        new = build(
            pb.User,
            "user.",
            id=user_id,
            name=name or "",
            address=_address_argument(address) if address is not None else None,
        )
        paths = [field for field, value in (("name", name), ("address", address)) if value is not None]
        mask = FieldMask(paths=paths)
        request = build(pb.UpdateUserRequest, user=new, update_mask=mask, expected=_encode_expected(expected))
        return user_from(await self._peer.unary(self._stub.UpdateUser, "UpdateUser", request))

    async def delete_user(self, user_id: int, *, expected: User | None = None) -> None:
        request = build(pb.DeleteUserRequest, id=user_id, expected=_encode_expected(expected))
        await self._peer.unary(self._stub.DeleteUser, "DeleteUser", request)


def _encode_expected(user: User | None) -> pb.User | None:
    return user_message(user) if user is not None else None


def _address_argument(address: Address) -> address_pb2.Address:
    return build(address_pb2.Address, "user.address.", **asdict(address))
