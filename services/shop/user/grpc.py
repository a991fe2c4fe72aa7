"""The accounts over gRPC: decodes, calls, encodes."""

# The methods' names and arguments are the contract's.
# ruff: noqa: N802, ARG002

from __future__ import annotations

from typing import Any

import grpc.aio
from google.protobuf.empty_pb2 import Empty

from shop.messages.user import address_from, change_from, login_message, user_from, user_message
from shop.platform.access.guesses import count_failure
from shop.platform.access.rules import Access, admits, require_owner
from shop.platform.config import EDGE_MARK
from shop.stubs import user_pb2 as pb
from shop.stubs import user_pb2_grpc
from shop.user.service import UserService

SERVICE = pb.DESCRIPTOR.services_by_name["UserService"].full_name


class UserServicer(user_pb2_grpc.UserServiceServicer):
    """Answers the calls of shop.user.v1.UserService."""

    def __init__(self, service: UserService) -> None:
        self._service = service

    @admits(Access.EVERYBODY)
    async def Login(self, request: pb.LoginRequest, context: Any) -> pb.LoginResponse:
        metadata = dict(context.invocation_metadata() or ())
        with count_failure(metadata.get(EDGE_MARK)):
            return login_message(await self._service.login(request.email, request.password))

    @admits(Access.CALLER)
    async def GetUser(self, request: pb.GetUserRequest, context: Any) -> pb.User:
        require_owner(request.id)
        return user_message(await self._service.get_user(request.id))

    @admits(Access.PARTNER)
    async def BatchGetUsers(self, request: pb.BatchGetUsersRequest, context: Any) -> pb.BatchGetUsersResponse:
        users = await self._service.batch_get_users(request.ids)
        return pb.BatchGetUsersResponse(users=map(user_message, users))

    @admits(Access.PARTNER)
    async def ListUsers(self, request: pb.ListUsersRequest, context: Any) -> pb.ListUsersResponse:
        page = await self._service.list_users(page_size=request.page_size, page_token=request.page_token)
        return pb.ListUsersResponse(users=map(user_message, page.items), next_page_token=page.next_page_token)

    @admits(Access.EVERYBODY)
    async def CreateUser(self, request: pb.CreateUserRequest, context: Any) -> pb.User:
        new = request.user
        user = await self._service.create_user(
            email=new.email, name=new.name, address=address_from(new.address), password=request.password
        )
        return user_message(user)

    @admits(Access.CALLER)
    async def UpdateUser(self, request: pb.UpdateUserRequest, context: Any) -> pb.User:
        require_owner(request.user.id)
        change = change_from(request.user, request.update_mask.paths)
        expected = user_from(request.expected) if request.HasField("expected") else None
        return user_message(await self._service.update_user(request.user.id, expected=expected, **change))

    @admits(Access.CALLER)
    async def DeleteUser(self, request: pb.DeleteUserRequest, context: Any) -> Empty:
        require_owner(request.id)
        expected = user_from(request.expected) if request.HasField("expected") else None
        await self._service.delete_user(request.id, expected=expected)
        return Empty()


def register(server: grpc.aio.Server, service: UserService) -> list[str]:
    """Adds the accounts to a server; returns the full names of its services."""
    user_pb2_grpc.add_UserServiceServicer_to_server(UserServicer(service), server)
    return [SERVICE]
