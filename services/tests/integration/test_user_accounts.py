"""Customers and their logins, the same over every protocol."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace

from conforming import words
from shop.contract.ports import UserClient
from shop.errors import (
    AlreadyExists,
    InvalidArgument,
    InvalidPageToken,
    NotFound,
    PreconditionFailed,
    Unauthenticated,
)
from shop.platform.access.jwt import Principal, TokenVerifier
from shop.values.user import Address, User

Make = Callable[..., Awaitable[User]]
NOWHERE = 2**62
PASSWORD = "correct horse"
ADDRESS = Address("Ada Lovelace", "Hauptstraße 1", "Berlin", "10115", "DE")


def fresh_email() -> str:
    return f"{uuid.uuid4().hex}@example.com"


async def test_login_gives_a_token_of_the_user(user: UserClient, make_user: Make, keys: Any) -> None:
    ada = await make_user()
    result = await user.login(ada.email, PASSWORD)
    assert result.user == ada
    assert TokenVerifier(keys.public_pem).verify(result.token) == Principal("customer", ada.id)


async def test_email_is_compared_without_case(user: UserClient, make_user: Make) -> None:
    email = fresh_email()
    ada = await make_user(email=email.upper())
    assert ada.email == email
    assert (await user.login(email.upper(), PASSWORD)).user == ada
    with pytest.raises(AlreadyExists):
        await make_user(email=email)


async def test_wrong_password_and_unknown_email_get_the_same_answer(user: UserClient, make_user: Make) -> None:
    ada = await make_user()
    with pytest.raises(Unauthenticated) as wrong:
        await user.login(ada.email, "wrong password")
    with pytest.raises(Unauthenticated) as unknown:
        await user.login(fresh_email(), PASSWORD)
    assert wrong.value.message == unknown.value.message
    # The password of the stand-in hash opens nothing.
    with pytest.raises(Unauthenticated):
        await user.login(fresh_email(), "nobody has this password")


async def test_password_is_stored_as_an_argon2id_hash_only(make_user: Make, admin: psycopg.Connection) -> None:
    ada = await make_user()
    row = admin.execute("SELECT password_hash FROM shop_user.account WHERE id = %s", [ada.id]).fetchone()
    assert row[0].startswith("$argon2id$v=19$m=19456,t=2,p=1$")


async def test_created_user_is_read_back(user: UserClient, make_user: Make) -> None:
    made = await make_user(name="Zoë Ωmega")
    assert made.id > 0
    assert made.address == ADDRESS
    assert await user.get_user(made.id) == made


async def test_email_of_another_user_is_refused(user: UserClient, make_user: Make) -> None:
    email = fresh_email()
    results = await asyncio.gather(*(make_user(email=email) for _ in range(5)), return_exceptions=True)
    assert sum(isinstance(result, User) for result in results) == 1
    refused = [result for result in results if isinstance(result, AlreadyExists)]
    assert len(refused) == 4
    assert refused[0].field == "user.email"


async def test_batch_keeps_the_requested_order_and_leaves_out_unknown_ids(user: UserClient, make_user: Make) -> None:
    ada, bob = await make_user(name="Ada"), await make_user(name="Bob")
    assert await user.batch_get_users([bob.id, NOWHERE, ada.id, bob.id]) == [bob, ada]


async def test_pages_hold_every_user_once(user: UserClient, make_user: Make, admin: psycopg.Connection) -> None:
    await make_user()
    await make_user()
    total = admin.execute("SELECT count(*) FROM shop_user.account").fetchone()
    seen: list[int] = []
    token = ""
    while True:
        page = await user.list_users(page_size=3, page_token=token)
        seen += [item.id for item in page.items]
        token = page.next_page_token
        if not token:
            break
    assert seen == sorted(set(seen))
    assert len(seen) == total[0]


async def test_page_token_that_was_not_handed_out_is_refused(user: UserClient) -> None:
    with pytest.raises(InvalidPageToken) as refusal:
        await user.list_users(page_token="bm9wZQ")
    assert refusal.value.field == "page_token"


async def test_update_changes_the_named_fields_only(user: UserClient, make_user: Make) -> None:
    made = await make_user()
    moved = Address("A. King", "1 Main St", "Łódź", "90-001", "PL")
    assert await user.update_user(made.id, address=moved) == replace(made, address=moved)
    assert await user.update_user(made.id, name="Countess") == replace(made, address=moved, name="Countess")
    assert await user.get_user(made.id) == replace(made, address=moved, name="Countess")


async def test_a_change_applies_only_to_the_version_that_the_caller_read(user: UserClient, make_user: Make) -> None:
    made = await make_user()
    changed = await user.update_user(made.id, name="Countess", expected=made)
    for call in (user.update_user(made.id, name="Late", expected=made), user.delete_user(made.id, expected=made)):
        with pytest.raises(PreconditionFailed, match=words("read it again")) as refusal:
            await call
        assert refusal.value.field == "expected"
    assert await user.get_user(made.id) == changed
    await user.delete_user(made.id, expected=changed)
    for call in (user.update_user(made.id, name="Late", expected=changed), user.delete_user(made.id, expected=changed)):
        with pytest.raises(NotFound):
            await call


async def test_of_four_changes_of_one_version_one_succeeds(user: UserClient, make_user: Make) -> None:
    now = await make_user()
    for round_ in range(40):
        outcomes = await asyncio.gather(
            *(user.update_user(now.id, name=f"{round_}/{rival}", expected=now) for rival in range(4)),
            return_exceptions=True,
        )
        (now,) = [outcome for outcome in outcomes if isinstance(outcome, User)]
        assert sum(isinstance(outcome, PreconditionFailed) for outcome in outcomes) == 3


async def test_deleted_user_is_gone(user: UserClient, make_user: Make) -> None:
    made = await make_user()
    await user.delete_user(made.id)
    for call in (user.get_user(made.id), user.delete_user(made.id), user.update_user(made.id, name="x")):
        with pytest.raises(NotFound):
            await call
    with pytest.raises(Unauthenticated):
        await user.login(made.email, PASSWORD)


BAD: list[tuple[str, Callable[[UserClient], Awaitable[Any]]]] = [
    ("email", lambda u: u.login("", PASSWORD)),
    ("email", lambda u: u.login("x" * 255, PASSWORD)),
    ("email", lambda u: u.login("nul\x00@example.com", PASSWORD)),
    ("password", lambda u: u.login("a@example.com", "short")),
    ("password", lambda u: u.login("a@example.com", "x" * 129)),
    ("id", lambda u: u.get_user(0)),
    ("id", lambda u: u.get_user(2**64)),
    ("id", lambda u: u.delete_user(-1)),
    ("ids", lambda u: u.batch_get_users([])),
    ("ids", lambda u: u.batch_get_users(list(range(1, 1002)))),
    ("ids[0]", lambda u: u.batch_get_users([0])),
    ("page_size", lambda u: u.list_users(page_size=1001)),
    ("page_size", lambda u: u.list_users(page_size=-1)),
    ("user.email", lambda u: create(u, email="not an address")),
    ("user.email", lambda u: create(u, email="two@at@example.com")),
    ("user.email", lambda u: create(u, email="@")),
    ("user.email", lambda u: create(u, email="a@" + "x" * 253)),
    # Programs and databases convert only ASCII to lower case in the same way.
    *(
        ("user.email", lambda u, odd=odd: create(u, email=f"x@{odd}.example"))
        for odd in ("ü", "\u212a", "\u200b", "\uff41")
    ),
    ("email", lambda u: u.login("\u0130x@example.com", PASSWORD)),
    ("user.name", lambda u: create(u, name="")),
    ("user.name", lambda u: create(u, name="x" * 101)),
    *(
        ("user.name", lambda u, name=name: create(u, name=name))
        for name in ("  \u3000", "\u202e\u200b", "A\nB", "A\x9b")
    ),
    ("password", lambda u: create(u, password="short")),
    ("user.address.recipient", lambda u: create(u, address=replace(ADDRESS, recipient=""))),
    ("user.address.street", lambda u: create(u, address=replace(ADDRESS, street="x" * 201))),
    ("user.address.city", lambda u: create(u, address=replace(ADDRESS, city=""))),
    ("user.address.city", lambda u: create(u, address=replace(ADDRESS, city=" "))),
    ("user.address.city", lambda u: create(u, address=replace(ADDRESS, city="half \ud800"))),
    ("user.address.postal_code", lambda u: create(u, address=replace(ADDRESS, postal_code="x" * 21))),
    ("user.address.country_code", lambda u: create(u, address=replace(ADDRESS, country_code="de"))),
    ("user.id", lambda u: u.update_user(0, name="x")),
    ("update_mask", lambda u: u.update_user(1)),
    ("user.name", lambda u: u.update_user(1, name="")),
    ("user.address.street", lambda u: u.update_user(1, address=replace(ADDRESS, street=""))),
]


@pytest.mark.parametrize(("field", "call"), BAD, ids=[f"{index}-{field}" for index, (field, _) in enumerate(BAD)])
async def test_argument_out_of_range_is_named(
    user: UserClient, field: str, call: Callable[[UserClient], Awaitable[Any]]
) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        await call(user)
    assert refusal.value.field == field
    assert field in refusal.value.message


async def create(client: UserClient, **fields: Any) -> User:
    good = {"email": fresh_email(), "name": "Ada", "address": ADDRESS, "password": PASSWORD}
    return await client.create_user(**(good | fields))
