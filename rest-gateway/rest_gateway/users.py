"""Customers: `/v1/users`."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import FastAPI
from starlette.responses import Response

from rest_gateway.answers import changed, content_of, created, found, removed
from rest_gateway.auth import Access
from rest_gateway.caching import PERSONAL, check_if_match
from rest_gateway.call import Call
from rest_gateway.models import users as models
from rest_gateway.models.fields import Address as AddressBody
from rest_gateway.operations import changing, creating, reading, removing
from rest_gateway.parameters import Ids, IfMatch, PageSize1000, PageToken, UserId, check_alone, parse_ids
from shop.clients import Address, Clients, User
from shop.platform.auth import require_user


def add_users(api: FastAPI, shop: Clients) -> None:
    """Declares the routes of users.

    Args:
        api: Where to declare them.
        shop: The services.
    """
    users = shop.user

    @api.get("/v1/users", **reading("users", models.UserPage, access=Access.PARTNER))
    async def list_users(
        call: Call, ids: Ids = "", page_size: PageSize1000 = 20, page_token: PageToken = ""
    ) -> Response:
        """A page of users by ascending id, or those asked for by `ids`; for partners."""
        listed: Sequence[User]
        token = ""
        if ids:
            check_alone("ids", {"page_token": page_token})
            listed = await users.batch_get_users(parse_ids(ids, "ids"))
        else:
            page = await users.list_users(page_size=page_size, page_token=page_token)
            listed, token = page.items, page.next_page_token
        return found(call, {"users": listed, "next_page_token": token}, PERSONAL)

    @api.get("/v1/users/{user_id}", **reading("users", models.User, access=Access.CALLER, problems=[404]))
    async def get_user(call: Call, user_id: UserId) -> Response:
        """One user: a customer's own profile, any for partners."""
        require_user(call.caller(), user_id)
        return found(call, await users.get_user(user_id), PERSONAL)

    @api.post("/v1/users", **creating("users", models.User, access=Access.EVERYBODY, problems=[409]))
    async def create_user(user: models.NewUser) -> Response:
        """Signs up a new user."""
        made = await users.create_user(
            email=user.email, name=user.name, address=_address(user.address), password=user.password
        )
        return created(made, f"/v1/users/{made.id}")

    @api.patch("/v1/users/{user_id}", **changing("users", models.User, access=Access.CALLER, problems=[412]))
    async def update_user(call: Call, user_id: UserId, change: models.UserChange, if_match: IfMatch = None) -> Response:
        """Changes the fields of a user that the body names: a customer's own, any for partners."""
        require_user(call.caller(), user_id)
        if if_match is not None:
            check_if_match(if_match, content_of(await users.get_user(user_id)))
        address = _address(change.address) if "address" in change.model_fields_set else None
        return changed(await users.update_user(user_id, name=change.name, address=address))

    @api.delete("/v1/users/{user_id}", **removing("users", access=Access.CALLER))
    async def delete_user(call: Call, user_id: UserId) -> Response:
        """Removes a user: a customer's own account, any for partners. The orders stay."""
        require_user(call.caller(), user_id)
        await users.delete_user(user_id)
        return removed()


def _address(body: AddressBody) -> Address:
    return Address(body.recipient, body.street, body.city, body.postal_code, body.country_code)
