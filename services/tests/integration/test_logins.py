"""The limit on failed logins, which applies to each e-mail address, whether or not it belongs to a user."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import httpx
import psycopg
import pytest

from conforming import words
from connect_client import connected
from memory_shop import MemoryShop
from memory_stores.user import MemoryUserStore
from served_shop import SCHEMES, served_service
from shop.contract.ports import UserClient
from shop.errors import InvalidArgument, TooManyRequests, Unauthenticated
from shop.platform.access import guesses
from shop.platform.access.guesses import MAX_FAILURES
from shop.platform.access.jwt import TokenSigner
from shop.platform.config import EDGE_MARK
from shop.platform.database.pool import connect_database
from shop.stubs import user_pb2, user_pb2_grpc
from shop.user.domain import NewUser
from shop.user.passwords import THREADS, Argon2Passwords
from shop.user.postgres import PostgresUserStore
from shop.user.service import MAX_FAILED_LOGINS, UserService
from shop.values.user import Address, User

Make = Callable[..., Awaitable[User]]
PASSWORD, WRONG = "correct horse", "battery staple"
ADDRESS = Address("Ada", "Hauptstraße 1", "Berlin", "10115", "DE")


@pytest.fixture(scope="module", params=["cached", "grpc", "memory"])
def protocol(request: pytest.FixtureRequest) -> str:
    """Only gRPC, with each store that counts failures: hashes cost time, and the count is the same in any protocol."""
    return str(request.param)


async def fail(user: UserClient, email: str, times: int = MAX_FAILED_LOGINS) -> None:
    for _ in range(times):
        with pytest.raises(Unauthenticated, match=words("do not match")):
            await user.login(email, WRONG)


def failures(admin: psycopg.Connection) -> int:
    row = admin.execute("SELECT count(*) FROM shop_user.failed_login").fetchone()
    return int(row[0])


async def test_after_ten_failures_the_next_login_is_refused_unchecked(user: UserClient, make_user: Make) -> None:
    made = await make_user()
    nobody = f"{uuid.uuid4().hex}@example.com"
    messages = set()
    for email in (made.email, nobody):
        await fail(user, email)
        for password in (PASSWORD, WRONG):
            with pytest.raises(TooManyRequests) as refusal:
                await user.login(email.upper(), password)
            messages.add(refusal.value.message)
    assert len(messages) == 1
    assert (await user.login((await make_user()).email, PASSWORD)).token


async def test_unknown_email_takes_as_long_as_a_wrong_password(user: UserClient, make_user: Make) -> None:
    async def took(email: str) -> float:
        began = time.perf_counter()
        with pytest.raises(Unauthenticated):
            await user.login(email, WRONG)
        return time.perf_counter() - began

    async def share() -> float:
        """Measures the shortest login time of an unknown address, as a share of a known address's shortest."""
        ada = await make_user()
        # The two addresses take turns, so that both run under the same load; an address is locked after ten failures.
        emails = (ada.email, f"{uuid.uuid4().hex}@example.com")
        known, unknown = (
            min(times) for times in zip(*[[await took(email) for email in emails] for _ in range(9)], strict=True)
        )
        return unknown / known

    # A program that hashes only for known addresses fails both attempts; a busy machine rarely distorts both.
    assert await share() > 0.5 or await share() > 0.5


async def test_a_success_resets_the_count(user: UserClient, make_user: Make) -> None:
    made = await make_user()
    for _ in range(2):
        await fail(user, made.email, MAX_FAILED_LOGINS - 1)
        assert (await user.login(made.email, PASSWORD)).user == made


async def test_failures_are_forgotten_in_time(user: UserClient, make_user: Make, admin: psycopg.Connection) -> None:
    made = await make_user()
    await fail(user, made.email)
    admin.execute("UPDATE shop_user.failed_login SET expires_at = now()")
    await fail(user, made.email, 1)
    assert failures(admin) == 1, "those of other addresses are removed when they have expired"
    assert (await user.login(made.email, PASSWORD)).user == made


async def test_a_good_login_writes_nothing(user: UserClient, make_user: Make, admin: psycopg.Connection) -> None:
    made = await make_user()
    admin.execute("DELETE FROM shop_user.failed_login")
    before = admin.execute("SELECT xmin::text, ctid::text FROM shop_user.account ORDER BY id").fetchall()
    assert (await user.login(made.email, PASSWORD)).user == made
    assert failures(admin) == 0
    assert admin.execute("SELECT xmin::text, ctid::text FROM shop_user.account ORDER BY id").fetchall() == before


async def test_many_tries_at_once_do_not_slip_past_the_count(user: UserClient, make_user: Make) -> None:
    made = await make_user()
    outcomes = await asyncio.gather(*(user.login(made.email, WRONG) for _ in range(30)), return_exceptions=True)
    kinds = [type(outcome) for outcome in outcomes]
    assert kinds.count(Unauthenticated) == MAX_FAILED_LOGINS
    assert kinds.count(TooManyRequests) == 30 - MAX_FAILED_LOGINS


@pytest.mark.parametrize("spoken", ["grpc", "rest", "graphql", "thrift", "connect"])
async def test_passwords_that_would_wait_long_are_refused_at_once(signer: TokenSigner, spoken: str) -> None:
    with contextlib.closing(Argon2Passwords(max_wait_s=0.0)) as passwords:
        service = UserService(MemoryUserStore(), passwords, signer)
        async with (
            served_service("user", service, None, [spoken]) as at,
            connected({"user": f"{SCHEMES.get(spoken, spoken)}://{at[spoken]}"}, "test") as clients,
        ):
            emails = [f"{number}@example.com" for number in range(4 * THREADS)]
            logins = (clients.user.login(email, WRONG) for email in emails)
            sign_ups = (
                clients.user.create_user(email=email, name="Ada", address=ADDRESS, password=PASSWORD)
                for email in emails
            )
            for calls, done in ((logins, Unauthenticated), (sign_ups, User)):
                outcomes = await asyncio.gather(*calls, return_exceptions=True)
                assert {type(outcome) for outcome in outcomes} == {done, TooManyRequests}
                assert {one.retry_after_s for one in outcomes if isinstance(one, TooManyRequests)} == {1}
                assert sum(isinstance(one, done) for one in outcomes) >= THREADS


async def test_the_table_holds_no_address(user: UserClient, make_user: Make, admin: psycopg.Connection) -> None:
    made = await make_user()
    await fail(user, made.email, 1)
    rows = admin.execute("SELECT f::text, encode(address, 'escape') FROM shop_user.failed_login f").fetchall()
    assert rows
    assert not any(made.email in str(row) for row in rows)


async def test_unchecked_logins_do_not_count(user: UserClient, make_user: Make) -> None:
    made = await make_user()
    for _ in range(MAX_FAILED_LOGINS + 1):
        with pytest.raises(InvalidArgument):
            await user.login(made.email, "short")
    assert (await user.login(made.email, PASSWORD)).user == made


class Meeting:
    """Checks passwords once both logins have read the count; accepts one only after the other has failed."""

    def __init__(self, store: PostgresUserStore, address: str) -> None:
        self._store, self._address = store, address
        self._barrier = asyncio.Barrier(2)

    async def hash(self, password: str) -> str:
        return password

    async def verify(self, password_hash: str | None, password: str) -> bool:
        await self._barrier.wait()
        matches = password != WRONG
        while matches:
            if (await self._store.credentials(self._address)).failures >= MAX_FAILED_LOGINS:
                break
            await asyncio.sleep(0.01)
        return matches


@pytest.mark.parametrize("second", [PASSWORD, WRONG])
async def test_two_replicas_at_once_do_not_slip_past_the_count(
    role_url: Callable[[str], str], signer: TokenSigner, second: str
) -> None:
    database = await connect_database(role_url("user"), 4)
    try:
        store = PostgresUserStore(database)
        address = f"{uuid.uuid4().hex}@example.com"
        assert await store.add(NewUser(address, "Ada", ADDRESS), "hash") is not None
        for _ in range(MAX_FAILED_LOGINS - 1):
            await store.note_failure(address, 60)
        passwords = Meeting(store, address)
        replicas = [UserService(store, passwords, signer) for _ in range(2)]
        logins = [replica.login(address, tried) for replica, tried in zip(replicas, (WRONG, second), strict=True)]
        outcomes = {type(outcome) for outcome in await asyncio.gather(*logins, return_exceptions=True)}
    finally:
        await database.close()
    assert outcomes == {Unauthenticated, TooManyRequests}


async def test_an_address_is_limited_where_clients_reach_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """The edge gives the client's address; a call from inside comes without it, and is not limited."""
    monkeypatch.setattr(guesses, "MAX_SIGN_UPS", 1)
    service = MemoryShop().use_cases("user")
    async with (
        served_service("user", service, None, ["grpc", "rest"]) as at,
        grpc.aio.insecure_channel(at["grpc"], options=[("grpc.enable_http_proxy", 0)]) as channel,
        httpx.AsyncClient(base_url=f"http://{at['rest']}", trust_env=False) as client,
    ):
        stub = user_pb2_grpc.UserServiceStub(channel)

        async def over_grpc(address: str) -> Any:
            wrong = user_pb2.LoginRequest(email=f"{uuid.uuid4().hex}@example.com", password=WRONG)
            with pytest.raises(grpc.aio.AioRpcError) as refusal:
                await stub.Login(wrong, metadata=[(EDGE_MARK, address)])
            return refusal.value.code()

        async def over_rest(address: str) -> int:
            wrong = {"email": f"{uuid.uuid4().hex}@example.com", "password": WRONG}
            return (await client.post("/v1/sessions", json=wrong, headers={EDGE_MARK: address})).status_code

        for _ in range(MAX_FAILURES):
            assert await over_grpc("192.0.2.5") is grpc.StatusCode.UNAUTHENTICATED
        assert await over_grpc("192.0.2.5") is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert await over_rest("192.0.2.5") == 429
        assert await over_rest("192.0.2.6") == 401

        invalid, limited = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED
        for address, code in (("192.0.2.5", invalid), ("192.0.2.5", limited), ("192.0.2.6", invalid)):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await stub.CreateUser(user_pb2.CreateUserRequest(), metadata=[(EDGE_MARK, address)])
            assert refused.value.code() is code
