"""Customers and their logins: `/v1/users`, `/v1/sessions`."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import FastAPI

from shop.contract.ports import UserClient
from shop.platform.access.guesses import count_failure, count_sign_up
from shop.platform.config import EDGE_MARK
from shop.platform.http.caching import NO_STORE, PERSONAL
from shop.platform.rest.answers import Answer, answer_changed, answer_created, answer_removed, as_read, encode, ok
from shop.platform.rest.openapi import changing, creating, reading, removing
from shop.platform.rest.parameters import Ids, IfMatch, PageSize1000, PageToken, UserId, check_alone, parse_ids
from shop.platform.rest.requests import RestCall
from shop.resources import request_bodies
from shop.resources.response_bodies import UserPage
from shop.values.user import Address, LoginResult, User


def add_users(api: FastAPI, users: UserClient) -> None:
    @api.api_route(**reading("users", UserClient.list_users))
    async def list_users(
        call: RestCall, ids: Ids = None, page_size: PageSize1000 = 20, page_token: PageToken = ""
    ) -> Answer[UserPage]:
        """A page of users by ascending id, or the users of `ids`; for partners."""
        listed: Sequence[User]
        token = ""
        if ids is not None:
            check_alone("ids", {"page_token": page_token})
            listed = await users.batch_get_users(parse_ids(ids, "ids"))
        else:
            page = await users.list_users(page_size=page_size, page_token=page_token)
            listed, token = page.items, page.next_page_token
        return ok(call, UserPage(listed, token), PERSONAL)

    @api.api_route(**reading("users", UserClient.get_user, problems=[404]))
    async def get_user(call: RestCall, user_id: UserId) -> Answer[User]:
        """One user: a customer's own profile, any for partners."""
        return ok(call, await users.get_user(user_id), PERSONAL)

    @api.api_route(**creating("users", UserClient.create_user, problems=[409, 429]))
    async def create_user(call: RestCall, user: request_bodies.NewUser) -> Answer[User]:
        """Signs up a new user."""
        with count_sign_up(_client_address(call)):
            made = await users.create_user(
                email=user.email, name=user.name, address=_address(user.address), password=user.password
            )
        return answer_created(made, f"/v1/users/{made.id}")

    @api.api_route(**changing("users", UserClient.update_user, problems=[412]))
    async def update_user(user_id: UserId, change: request_bodies.UserChange, if_match: IfMatch = None) -> Answer[User]:
        """Changes the fields of a user that the body names: a customer's own, any for partners."""
        expected = await as_read(if_match, lambda: users.get_user(user_id))
        address = _address(change.address) if "address" in change.model_fields_set else None
        return answer_changed(await users.update_user(user_id, name=change.name, address=address, expected=expected))

    @api.api_route(**removing("users", UserClient.delete_user, problems=[412]))
    async def delete_user(user_id: UserId, if_match: IfMatch = None) -> Answer[None]:
        """Removes a user: a customer's own account, any for partners. The orders stay."""
        expected = await as_read(if_match, lambda: users.get_user(user_id))
        await users.delete_user(user_id, expected=expected)
        return answer_removed()

    @api.api_route(**creating("sessions", UserClient.login, problems=[401, 429], located=False))
    async def create_session(call: RestCall, credentials: request_bodies.Credentials) -> Answer[LoginResult]:
        """Logs a user in: checks e-mail and password and gives a token for one hour."""
        with count_failure(_client_address(call)):
            login = await users.login(credentials.email, credentials.password)
        return Answer(201, encode(login), [NO_STORE])


def _client_address(call: RestCall) -> str | None:
    return call.header(EDGE_MARK.encode())


def _address(body: request_bodies.Address) -> Address:
    return Address(body.recipient, body.street, body.city, body.postal_code, body.country_code)
