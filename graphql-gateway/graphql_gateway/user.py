"""Customers: their profiles, logins and orders."""

from __future__ import annotations

import strawberry

from graphql_gateway.objects.connection import Connection, check_first, connect
from graphql_gateway.objects.entities import KNOWN_OF_USER, GatewayInfo, User, existing
from graphql_gateway.objects.global_id import number_of
from graphql_gateway.objects.selection import asks_only
from shop.contract.ports import UserClient
from shop.errors import InvalidArgument
from shop.platform.access.guesses import count_failure, count_sign_up
from shop.platform.graphql.field import field, later
from shop.values import user as values

MAX_USERS = 100
MAX_USERS_PER_PAGE = 2 * MAX_USERS


@strawberry.input(description="A whole postal address; it replaces the one before.")
class AddressInput:
    recipient: str
    street: str
    city: str
    postal_code: str
    country_code: str

    def to_shop(self) -> values.Address:
        return values.Address(self.recipient, self.street, self.city, self.postal_code, self.country_code)


@strawberry.input
class LoginInput:
    """Credentials."""

    email: str
    password: str


@strawberry.input
class CreateUserInput:
    """A new customer."""

    email: str
    name: str
    address: AddressInput
    password: str = strawberry.field(description="8 to 128 characters.")


@strawberry.input
class ExpectedUserInput:
    """A user as the caller read it; PRECONDITION_FAILED if it has changed since."""

    email: str
    name: str
    address: AddressInput

    def to_shop(self, number: int) -> values.User:
        return values.User(number, self.email, self.name, self.address.to_shop())


@strawberry.input
class UpdateProfileInput:
    """Changes of the profile; fields that are left out stay as they are."""

    expected: ExpectedUserInput | None = None
    name: str | None = None
    address: AddressInput | None = None


@strawberry.input
class DeleteUserInput:
    """The user to remove."""

    id: strawberry.ID
    expected: ExpectedUserInput | None = None


@strawberry.type
class LoginPayload:
    """A token, valid for one hour, and the user who logged in."""

    token: str = strawberry.field(description='Send it as "Authorization: Bearer <token>".')
    user: User


@strawberry.type
class UserPayload:
    """The user as it is now."""

    user: User


@strawberry.type
class DeleteUserPayload:
    """The identifier of the removed user."""

    deleted_id: strawberry.ID


@strawberry.type
class UserQuery:
    """The fields of `Query` that return customers."""

    @field(description="The token's owner. Customers only.")
    def me(self, info: GatewayInfo) -> User:
        number = info.context.caller.customer_id()
        if asks_only(info, KNOWN_OF_USER):
            return User.known(number)
        return later(existing(info.context.reads.user(number), "user", number))

    @field(description="One user; NOT_FOUND if there is none. The customer and partners only.")
    async def user(self, info: GatewayInfo, id: strawberry.ID) -> User | None:  # noqa: A002
        number = number_of(id, "User")
        info.context.admit(UserClient.get_user, number)
        return await existing(info.context.reads.user(number), "user", number)

    @field(description=f"Users by ascending id; `first` is 1 to {MAX_USERS}. Partners only.")
    async def users(self, info: GatewayInfo, first: int = 20, after: str | None = None) -> Connection[User]:
        info.context.admit(UserClient.list_users)
        client = info.context.clients.user
        return await connect(
            lambda size, token: client.list_users(page_size=size, page_token=token),
            User.of,
            check_first(first, MAX_USERS),
            after,
            MAX_USERS_PER_PAGE,
        )


@strawberry.type
class UserMutation:
    """The fields of `Mutation` for logins and for changes of customers."""

    @field(description="Checks e-mail and password, and returns a token.")
    async def login(self, info: GatewayInfo, input: LoginInput) -> LoginPayload:  # noqa: A002
        with count_failure(info.context.address), info.context.hashing():
            result = await info.context.clients.user.login(input.email, input.password)
        return LoginPayload(token=result.token, user=User.of(result.user, own=True))

    @field(description="Signs a new customer up.")
    async def create_user(self, info: GatewayInfo, input: CreateUserInput) -> UserPayload:  # noqa: A002
        with count_sign_up(info.context.address), info.context.hashing():
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
            number,
            name=input.name,
            address=input.address.to_shop() if input.address else None,
            expected=input.expected.to_shop(number) if input.expected else None,
        )
        return UserPayload(user=User.of(changed))

    @field(description="Removes a user. The customer and partners only.")
    async def delete_user(self, info: GatewayInfo, input: DeleteUserInput) -> DeleteUserPayload:  # noqa: A002
        number = number_of(input.id, "User", "input.id")
        info.context.admit(UserClient.delete_user, number)
        expected = input.expected.to_shop(number) if input.expected else None
        await info.context.clients.user.delete_user(number, expected=expected)
        return DeleteUserPayload(deleted_id=input.id)
