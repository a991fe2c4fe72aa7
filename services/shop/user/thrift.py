"""The accounts over Thrift: for each method whom it admits, what it does, and what it answers with."""

from __future__ import annotations

from typing import Any

from shop.messages.structs import login_struct, user_struct
from shop.messages.user import address_from, change_from, user_from
from shop.platform.access.rules import Access, require_owner
from shop.platform.thrift.processor import Method, Processor
from shop.stubs.thrift import UserService as UserServiceStubs
from shop.stubs.thrift import ttypes as t
from shop.user.service import UserService
from shop.values.user import User


def processor(service: UserService) -> Processor:
    """Returns what answers the accounts' messages."""

    async def get(request: Any) -> User:
        require_owner(request.id)
        return await service.get_user(request.id)

    async def create(request: Any) -> User:
        new = request.user
        return await service.create_user(
            email=new.email, name=new.name, address=address_from(new.address), password=request.password
        )

    async def update(request: Any) -> User:
        require_owner(request.user.id)
        change = change_from(request.user, request.update_mask)
        return await service.update_user(request.user.id, expected=_decode_expected(request), **change)

    async def delete(request: Any) -> None:
        require_owner(request.id)
        await service.delete_user(request.id, expected=_decode_expected(request))

    return Processor(
        UserServiceStubs,
        {
            "Login": Method(Access.EVERYBODY, lambda r: service.login(r.email, r.password), login_struct),
            "GetUser": Method(Access.CALLER, get, user_struct),
            "BatchGetUsers": Method(
                Access.PARTNER,
                lambda r: service.batch_get_users(r.ids),
                lambda users: t.BatchGetUsersResponse([user_struct(one) for one in users]),
            ),
            "ListUsers": Method(
                Access.PARTNER,
                lambda r: service.list_users(page_size=r.page_size, page_token=r.page_token),
                lambda page: t.ListUsersResponse([user_struct(one) for one in page.items], page.next_page_token),
            ),
            "CreateUser": Method(Access.EVERYBODY, create, user_struct),
            "UpdateUser": Method(Access.CALLER, update, user_struct),
            "DeleteUser": Method(Access.CALLER, delete),
        },
    )


def _decode_expected(request: Any) -> User | None:
    # An absent struct arrives as an empty one; no user has the id 0.
    return user_from(request.expected) if request.expected.id else None
