"""The accounts over GraphQL: decodes, calls, encodes. The types have the attributes of the value types."""

from __future__ import annotations

from typing import TypeAlias, cast

import strawberry

from shop.platform.graphql.endpoint import Endpoint
from shop.platform.graphql.field import field
from shop.platform.graphql.scalars import Long
from shop.platform.graphql.schema import Schema
from shop.platform.graphql.service import ServiceContext, graphql_app
from shop.platform.incoming import Incoming
from shop.user.service import UserService
from shop.values import user as values

Info: TypeAlias = strawberry.Info[ServiceContext[UserService], None]

_ZERO = Long(0)


@strawberry.type
class Address:
    """A postal address."""

    recipient: str
    street: str
    city: str
    postal_code: str
    country_code: str


@strawberry.type
class User:
    """A customer of the shop."""

    id: Long
    email: str
    name: str
    address: Address


@strawberry.type
class UserPage:
    """One page of the users."""

    users: list[User]
    next_page_token: str


@strawberry.type
class LoginResult:
    """A signed token, valid for one hour, and who logged in."""

    token: str
    user: User


@strawberry.input
class AddressInput:
    """A postal address as a caller sends it."""

    recipient: str
    street: str
    city: str
    postal_code: str
    country_code: str

    def to_value(self) -> values.Address:
        """Returns it as services know it."""
        return values.Address(self.recipient, self.street, self.city, self.postal_code, self.country_code)


@strawberry.input
class NewUserInput:
    """Who the new user is."""

    email: str
    name: str
    address: AddressInput


@strawberry.input
class UserChangeInput:
    """What changes of a user; whatever is left out stays."""

    id: Long
    name: str | None = None
    address: AddressInput | None = None


@strawberry.input
class ExpectedUserInput(NewUserInput):
    """A user as the caller read it."""

    def to_value(self, user_id: int) -> values.User:
        """Returns the user with its id."""
        return values.User(user_id, self.email, self.name, self.address.to_value())


@strawberry.type
class Query:
    """What can be read."""

    @field(description="One user; NOT_FOUND if there is none.")
    async def user(self, info: Info, id: Long) -> User:  # noqa: A002
        return cast(User, await info.context.service.get_user(id))

    @field(description="The users that exist, in the order asked for.")
    async def users(self, info: Info, ids: list[Long]) -> list[User]:
        return cast(list[User], await info.context.service.batch_get_users(ids))

    @field(description="A page of users.")
    async def user_page(self, info: Info, page_size: Long = _ZERO, page_token: str = "") -> UserPage:
        page = await info.context.service.list_users(page_size=page_size, page_token=page_token)
        return UserPage(users=cast(list[User], page.items), next_page_token=page.next_page_token)


@strawberry.type
class Mutation:
    """What can be changed."""

    @field(description="A token for the right password.")
    async def login(self, info: Info, email: str, password: str) -> LoginResult:
        return cast(LoginResult, await info.context.service.login(email, password))

    @field(description="Adds a user.")
    async def create_user(self, info: Info, user: NewUserInput, password: str) -> User:
        made = await info.context.service.create_user(
            email=user.email, name=user.name, address=user.address.to_value(), password=password
        )
        return cast(User, made)

    @field(description="Changes the fields that are given; PRECONDITION_FAILED if the user is not as expected.")
    async def update_user(self, info: Info, user: UserChangeInput, expected: ExpectedUserInput | None = None) -> User:
        changed = await info.context.service.update_user(
            user.id,
            name=user.name,
            address=user.address.to_value() if user.address is not None else None,
            expected=expected.to_value(user.id) if expected is not None else None,
        )
        return cast(User, changed)

    @field(description="Removes a user; PRECONDITION_FAILED if it is not as expected.")
    async def delete_user(
        self,
        info: Info,
        id: Long,  # noqa: A002
        expected: ExpectedUserInput | None = None,
    ) -> bool:
        await info.context.service.delete_user(id, expected=expected.to_value(id) if expected is not None else None)
        return True


def build_app(service: UserService, incoming: Incoming) -> Endpoint:
    """Returns the accounts' GraphQL application."""
    return graphql_app(Schema(query=Query, mutation=Mutation), service, incoming)
