"""The accounts as a GraphQL client sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import asdict

from shop.clients.graphql.channel import Document, GraphQLPeer
from shop.clients.ports import Page
from shop.values.user import Address, LoginResult, User

_USER = "{ id email name address { recipient street city postalCode countryCode } }"

LOGIN = Document(
    "mutation Login($email: String!, $password: String!) "
    f"{{ login(email: $email, password: $password) {{ token user {_USER} }} }}"
)
GET = Document(f"query GetUser($id: Long!) {{ user(id: $id) {_USER} }}")
BATCH_GET = Document(f"query BatchGetUsers($ids: [Long!]!) {{ users(ids: $ids) {_USER} }}")
LIST = Document(
    "query ListUsers($pageSize: Long!, $pageToken: String!) "
    f"{{ userPage(pageSize: $pageSize, pageToken: $pageToken) {{ users {_USER} nextPageToken }} }}"
)
CREATE = Document(
    "mutation CreateUser($user: NewUserInput!, $password: String!) "
    f"{{ createUser(user: $user, password: $password) {_USER} }}"
)
UPDATE = Document(
    "mutation UpdateUser($user: UserChangeInput!, $expected: ExpectedUserInput) "
    f"{{ updateUser(user: $user, expected: $expected) {_USER} }}"
)
DELETE = Document(
    "mutation DeleteUser($id: Long!, $expected: ExpectedUserInput) { deleteUser(id: $id, expected: $expected) }"
)


class GraphQLUserClient(GraphQLPeer):
    """`shop.clients.ports.UserClient` over GraphQL."""

    async def login(self, email: str, password: str) -> LoginResult:
        answer = await self.run(LOGIN, email=email, password=password)
        return LoginResult(answer["token"], _user(answer["user"]))

    async def get_user(self, user_id: int) -> User:
        return _user(await self.run(GET, id=user_id))

    async def batch_get_users(self, ids: Sequence[int]) -> list[User]:
        return [_user(answer) for answer in await self.run(BATCH_GET, ids=list(ids))]

    async def list_users(self, *, page_size: int = 0, page_token: str = "") -> Page[User]:
        page = await self.run(LIST, page_size=page_size, page_token=page_token)
        return Page(tuple(_user(answer) for answer in page["users"]), page["nextPageToken"])

    async def create_user(self, *, email: str, name: str, address: Address, password: str) -> User:
        new = {"email": email, "name": name, "address": asdict(address)}
        return _user(await self.run(CREATE, user=new, password=password))

    async def update_user(
        self,
        user_id: int,
        *,
        name: str | None = None,
        address: Address | None = None,
        expected: User | None = None,
    ) -> User:
        change = {"id": user_id, "name": name, "address": asdict(address) if address is not None else None}
        return _user(await self.run(UPDATE, user=change, expected=_encode_expected(expected)))

    async def delete_user(self, user_id: int, *, expected: User | None = None) -> None:
        await self.run(DELETE, id=user_id, expected=_encode_expected(expected))


def _encode_expected(user: User | None) -> dict[str, Any] | None:
    return {"email": user.email, "name": user.name, "address": asdict(user.address)} if user is not None else None


def _user(answer: dict[str, Any]) -> User:
    address = answer["address"]
    return User(
        answer["id"],
        answer["email"],
        answer["name"],
        Address(
            address["recipient"], address["street"], address["city"], address["postalCode"], address["countryCode"]
        ),
    )
