"""Customers: who they are, how they log in, and what they bought."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import strawberry

from graphql_gateway.address import Address, AddressInput
from graphql_gateway.connection import Connection, checked_first, connect
from graphql_gateway.context import GatewayInfo
from graphql_gateway.global_id import global_id, number_of
from graphql_gateway.node import Node, existing
from graphql_gateway.selection import asks_only
from shop.errors import InvalidArgument
from shop.platform.graphql.field import field, later
from shop.user.domain import User as ShopUser

if TYPE_CHECKING:
    from graphql_gateway.order import Order

MOST_USERS = 100
MOST_ORDERS = 50
MOST_USERS_PER_PAGE = 1000
MOST_ORDERS_PER_PAGE = 100
_KNOWN = frozenset({"__typename", "id", "orders"})


@strawberry.type(description="A customer. Anyone sees the name; the rest only the customer and partners.")
class User(Node):
    name: str
    user: strawberry.Private[ShopUser]
    # The answer of a login or a sign-up shows its own user, though the request came without a token.
    own: strawberry.Private[bool] = False

    @classmethod
    def of(cls, user: ShopUser, *, own: bool = False) -> User:
        """Returns the service's user as a GraphQL object.

        Args:
            user: The user.
            own: Whether the request has proved to be this user's in another way than by a token.
        """
        return cls(id=strawberry.ID(global_id("User", user.id)), name=user.name, number=user.id, user=user, own=own)

    def check_owner(self, info: GatewayInfo) -> None:
        """Passes this user and partners."""
        if not self.own:
            info.context.caller.require_owner(self.number)

    @field(description="Only the customer and partners see it.")
    def email(self, info: GatewayInfo) -> str:
        self.check_owner(info)
        return self.user.email

    @field(description="Where parcels go. Only the customer and partners see it.")
    def address(self, info: GatewayInfo) -> Address:
        self.check_owner(info)
        return cast(Address, self.user.address)

    @field(description=f"Newest first; `first` is 1 to {MOST_ORDERS}. Only the customer and partners see them.")
    async def orders(
        self, info: GatewayInfo, first: int = 10, after: str | None = None
    ) -> Connection[Annotated[Order, strawberry.lazy("graphql_gateway.order")]]:
        self.check_owner(info)
        # The modules of orders and users name each other's types.
        from graphql_gateway.order import Order, prepare

        client, number = info.context.clients.order, self.number
        page = await connect(
            lambda size, token: client.list_orders_by_user(number, page_size=size, page_token=token),
            lambda order: Order.of(order, info.context.reads),
            checked_first(first, MOST_ORDERS),
            after,
            MOST_ORDERS_PER_PAGE,
        )
        await prepare(info, [edge.node for edge in page.edges], "edges", "node")
        return page


def user_of(info: GatewayInfo, number: int) -> User | None:
    """Returns the user with this id, without a call if the query asks for no more than the id and orders.

    None for 0, which stands for an account that is gone.
    """
    if not number:
        return None
    if asks_only(info, _KNOWN):
        return User.known(number)
    return later(info.context.reads.user(number))


@strawberry.input
class LoginInput:
    """Credentials."""

    email: str
    password: str


@strawberry.input
class CreateUserInput:
    """Who the new customer is."""

    email: str
    name: str
    address: AddressInput
    password: str = strawberry.field(description="8 to 128 characters.")


@strawberry.input
class UpdateProfileInput:
    """What changes of the profile; whatever is left out stays."""

    name: str | None = None
    address: AddressInput | None = None


@strawberry.input
class DeleteUserInput:
    """Which user to remove."""

    id: strawberry.ID


@strawberry.type
class LoginPayload:
    """A token, valid for one hour, and who logged in."""

    token: str = strawberry.field(description='Send it as "Authorization: Bearer <token>".')
    user: User


@strawberry.type
class UserPayload:
    """The user as it is now."""

    user: User


@strawberry.type
class DeleteUserPayload:
    """The identifier that is free of a user now."""

    deleted_id: strawberry.ID


@strawberry.type
class UserQuery:
    """The customers' fields of `Query`."""

    @field(description="The token's owner. Customers only.")
    def me(self, info: GatewayInfo) -> User:
        number = info.context.caller.customer_id()
        if asks_only(info, _KNOWN):
            return User.known(number)
        return later(existing(info.context.reads.user(number), "user", number))

    @field(description="One user; NOT_FOUND if there is none. The customer and partners only.")
    async def user(self, info: GatewayInfo, id: strawberry.ID) -> User | None:  # noqa: A002
        number = number_of(id, "User")
        info.context.caller.require_owner(number)
        return await existing(info.context.reads.user(number), "user", number)

    @field(description=f"Users by ascending id; `first` is 1 to {MOST_USERS}. Partners only.")
    async def users(self, info: GatewayInfo, first: int = 20, after: str | None = None) -> Connection[User]:
        info.context.caller.require_partner()
        client = info.context.clients.user
        return await connect(
            lambda size, token: client.list_users(page_size=size, page_token=token),
            User.of,
            checked_first(first, MOST_USERS),
            after,
            MOST_USERS_PER_PAGE,
        )


@strawberry.type
class UserMutation:
    """The customers' fields of `Mutation`."""

    @field(description="Checks e-mail and password, and returns a token.")
    async def login(self, info: GatewayInfo, input: LoginInput) -> LoginPayload:  # noqa: A002
        result = await info.context.clients.user.login(input.email, input.password)
        return LoginPayload(token=result.token, user=User.of(result.user, own=True))

    @field(description="Signs a new customer up.")
    async def create_user(self, info: GatewayInfo, input: CreateUserInput) -> UserPayload:  # noqa: A002
        made = await info.context.clients.user.create_user(
            email=input.email, name=input.name, address=input.address.to_shop(), password=input.password
        )
        return UserPayload(user=User.of(made, own=True))

    @field(description="Changes the profile of the token's owner. Customers only.")
    async def update_profile(self, info: GatewayInfo, input: UpdateProfileInput) -> UserPayload:  # noqa: A002
        number = info.context.caller.customer_id()
        if input.name is None and input.address is None:
            raise InvalidArgument("nothing to change; give at least one of name, address", field="input")
        changed = await info.context.clients.user.update_user(
            number, name=input.name, address=input.address.to_shop() if input.address else None
        )
        return UserPayload(user=User.of(changed))

    @field(description="Removes a user. The customer and partners only.")
    async def delete_user(self, info: GatewayInfo, input: DeleteUserInput) -> DeleteUserPayload:  # noqa: A002
        number = number_of(input.id, "User", "input.id")
        info.context.caller.require_owner(number)
        await info.context.clients.user.delete_user(number)
        return DeleteUserPayload(deleted_id=input.id)
