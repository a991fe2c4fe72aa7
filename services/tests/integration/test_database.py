"""Connections: pooled, limited by deadlines, never left dirty, and their failures told as the shop's errors."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import asyncpg
import psycopg
import pytest

from shop.errors import Conflict, DeadlineExceeded, Unavailable
from shop.platform.database import Database, connect_database
from shop.platform.deadline import deadline
from shop.platform.lifecycle import StartError

pytestmark = pytest.mark.integration


@pytest.fixture
async def database(role_url: Callable[[str], str]) -> AsyncIterator[Database]:
    """Two connections of the product service's role."""
    opened = await connect_database(role_url("product"), 2)
    try:
        yield opened
    finally:
        await opened.close()


async def test_statement_ends_with_the_callers_deadline(database: Database) -> None:
    began = time.monotonic()
    with pytest.raises(DeadlineExceeded), deadline(0.2):
        await database.fetchrow("SELECT pg_sleep(10)")
    assert time.monotonic() - began < 2
    row = await database.fetchrow("SELECT 1 AS one")
    assert row is not None
    assert row["one"] == 1


async def test_wait_for_a_connection_ends_with_the_callers_deadline(database: Database) -> None:
    async with database.acquire(), database.acquire():
        with pytest.raises(DeadlineExceeded), deadline(0.1):
            await database.fetchrow("SELECT 1")


async def test_cancelled_statement_is_stopped_in_the_database_too(
    database: Database, admin: psycopg.Connection
) -> None:
    work = asyncio.create_task(database.fetchrow("SELECT pg_sleep(20), 'cancel me'"))
    await asyncio.sleep(0.3)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    for _ in range(40):
        busy = admin.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%cancel me%'"
            " AND pid <> pg_backend_pid()"
        ).fetchone()
        if busy is not None and busy[0] == 0:
            break
        await asyncio.sleep(0.05)
    else:
        pytest.fail("the statement still runs")


async def test_failed_transaction_leaves_nothing_behind(database: Database) -> None:
    async def fail() -> None:
        async with database.transaction() as connection:
            await connection.execute("INSERT INTO reservation VALUES ('00000000-0000-0000-0000-000000000001', 'HELD')")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    # Even a transaction that its owner forgot is rolled back before the connection is lent again.
    for _ in range(2):
        async with database.acquire() as connection:
            await connection.execute("BEGIN")
            await connection.execute("INSERT INTO reservation VALUES ('00000000-0000-0000-0000-000000000001', 'HELD')")
    for _ in range(2):
        async with database.acquire() as connection:
            assert not connection.is_in_transaction()
            row = "SELECT 1 FROM reservation WHERE id = '00000000-0000-0000-0000-000000000001'"
            assert await connection.fetchval(row) is None


async def test_lost_connections_are_replaced(database: Database, admin: psycopg.Connection) -> None:
    admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'shop_product'")
    results = await asyncio.gather(*(database.fetchrow("SELECT 1") for _ in range(4)), return_exceptions=True)
    assert all(not isinstance(result, BaseException) or isinstance(result, Unavailable) for result in results)
    await asyncio.sleep(0.1)
    assert await database.fetchrow("SELECT 1") is not None


async def test_deadlock_is_a_conflict(database: Database) -> None:
    async with database.acquire() as connection:
        await connection.execute(
            "INSERT INTO reservation VALUES (gen_random_uuid(), 'HELD'), (gen_random_uuid(), 'HELD')"
        )
        first, second = await connection.fetch("SELECT id FROM reservation LIMIT 2")
    gate = asyncio.Barrier(2)

    async def cross(one: Any, other: Any) -> None:
        async with database.transaction() as connection:
            await connection.execute("UPDATE reservation SET state = state WHERE id = $1", one["id"])
            await gate.wait()
            await connection.execute("UPDATE reservation SET state = state WHERE id = $1", other["id"])

    results = await asyncio.gather(cross(first, second), cross(second, first), return_exceptions=True)
    assert [type(result) for result in results if result is not None] == [Conflict]


async def test_wrong_argument_type_is_a_fault_and_not_unavailable(database: Database) -> None:
    with pytest.raises(asyncpg.DataError):
        await database.fetchrow("SELECT $1::int", "text")


async def test_role_reads_and_writes_rows_of_its_own_schema_only(database: Database) -> None:
    for statement in (
        "SELECT * FROM shop_user.account",
        "DROP TABLE product",
        "CREATE TABLE shop_product.mine (id int)",
        "TRUNCATE product",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await database.fetchrow(statement)


async def test_database_that_is_away_is_said_clearly(role_url: Callable[[str], str]) -> None:
    with pytest.raises(StartError, match=r"127\.0\.0\.1:1/x does not answer"):
        await connect_database("postgresql://role:secret@127.0.0.1:1/x", 1, limit_s=0.1)
    wrong = role_url("product").rpartition("/")[0] + "/no_such_database"
    with pytest.raises(StartError, match="refuses") as refusal:
        await connect_database(wrong, 1, limit_s=0.1)
    assert "shop_product:shop_product" not in str(refusal.value)
