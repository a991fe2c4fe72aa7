"""Database connections: pooled, limited by deadlines, never left dirty; failures are raised as the shop's errors."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import psycopg
import pytest

from shop.errors import Conflict, DeadlineExceeded, Unavailable
from shop.platform import deadline as deadlines
from shop.platform.config import StartError
from shop.platform.database.pool import Database, connect_database
from shop.platform.deadline import CallerLimit, deadline
from shop.platform.error_codes import row


def values(rows: Sequence[asyncpg.Record | None]) -> list[Any]:
    return [row[0] for row in rows if row is not None]


async def test_statement_that_its_own_request_cuts_off_says_where(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadlines, "END", 2.0)  # a busy machine cancels statements late
    began = time.monotonic()
    with pytest.raises(DeadlineExceeded, match="in the database"):
        async with CallerLimit(2):
            await database.fetchrow("SELECT pg_sleep(10)")
    with pytest.raises(DeadlineExceeded, match="in the database"):
        async with CallerLimit(2):
            await asyncio.gather(*(database.fetchrow("SELECT pg_sleep(10)") for _ in range(2)))
    assert time.monotonic() - began < 9
    assert values(await database.fetch("SELECT 1")) == [1]


async def test_database_that_stands_still_does_not_hold_a_late_request_up(database: Database) -> None:
    (pid,) = await database.fetchrow("SELECT pg_backend_pid()")
    os.kill(pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        with pytest.raises(DeadlineExceeded):
            async with CallerLimit(0.3):
                await database.fetchrow("SELECT 1")
        took_s = time.monotonic() - began
    finally:
        os.kill(pid, signal.SIGCONT)
    assert took_s < 20


async def test_statement_of_work_that_outlives_its_request_keeps_the_deadline(database: Database) -> None:
    async with CallerLimit(0.3):
        left_behind = asyncio.create_task(database.fetchrow("SELECT pg_sleep(10)"))
        await asyncio.sleep(0.05)
    async with asyncio.timeout(5):
        with pytest.raises(DeadlineExceeded, match="in the database"):
            await left_behind


@pytest.fixture
def changing_table(admin: psycopg.Connection) -> Iterator[str]:
    """A table whose columns a migration changes while a service runs."""
    admin.execute("CREATE TABLE shop_product.changing (a int)")
    admin.execute("GRANT SELECT, INSERT ON shop_product.changing TO shop_product")
    yield "shop_product.changing"
    admin.execute("DROP TABLE shop_product.changing")


async def test_statements_are_prepared_again_after_a_table_has_changed(
    database: Database, admin: psycopg.Connection, changing_table: str
) -> None:
    read, change = f"SELECT a FROM {changing_table}", f"INSERT INTO {changing_table} VALUES (2) RETURNING a"
    async with database.acquire():
        assert await database.fetch(read) == []
    assert values([await database.fetchrow(change)]) == [2]
    assert values(await database.fetch(read)) == [2]
    admin.execute(f"ALTER TABLE {changing_table} ALTER COLUMN a TYPE text".encode())
    assert values([await database.fetchrow(change)]) == ["2"]
    async with database.acquire():
        assert values(await database.fetch(read)) == ["2", "2"]
    assert values(await database.fetch(read)) == ["2", "2"]


async def test_a_traced_statement_that_was_too_slow_says_so(database: Database, traces: Any) -> None:
    with traces.journey() as root:
        with pytest.raises(DeadlineExceeded), deadline(0.2):
            await database.fetchrow("SELECT pg_sleep(10)")
        await database.fetchrow("SELECT 1")
    acquired, late, acquired_again, done = traces.of(root)
    assert [span.name for span in (acquired, acquired_again)] == 2 * ["pool.acquire"]
    assert late.attributes["error.type"] == "TimeoutError"
    assert late.end_time - late.start_time >= 0.1e9
    assert "error.type" not in done.attributes


async def test_wait_for_a_connection_ends_with_the_callers_deadline(database: Database) -> None:
    async with database.acquire(), database.acquire():
        with pytest.raises(DeadlineExceeded), deadline(0.1):
            await database.fetchrow("SELECT 1")


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


async def test_a_limit_of_the_server_is_unavailable(database: Database, admin: psycopg.Connection) -> None:
    admin.execute("ALTER ROLE shop_product SET temp_file_limit = '64kB'")
    try:
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'shop_product'")
        await asyncio.sleep(0.1)
        sort = "SELECT n FROM generate_series(1, 2000000) AS n ORDER BY md5(n::text) OFFSET 1999999"
        with pytest.raises(Unavailable, match="out of disk space, memory or connections") as unavailable:
            await database.fetchrow(sort)
        assert isinstance(unavailable.value.__cause__, asyncpg.ConfigurationLimitExceededError)
    finally:
        admin.execute("ALTER ROLE shop_product RESET temp_file_limit")


async def test_a_full_disk_is_unavailable(database: Database, admin: psycopg.Connection) -> None:
    with small_disk(admin) as tablespace:
        admin.execute(f"CREATE TABLE shop_product.filler (line text) TABLESPACE {tablespace}".encode())
        admin.execute("GRANT INSERT, SELECT ON shop_product.filler TO shop_product")
        fill = "INSERT INTO filler SELECT repeat(md5(n::text), 30) FROM generate_series(1, 20000) AS n"
        with pytest.raises(Unavailable) as unavailable:
            await database.fetch(fill)
        assert isinstance(unavailable.value.__cause__, asyncpg.DiskFullError)
        assert row(unavailable.value).http == 503
        assert await database.fetchrow("SELECT count(*) FROM filler") is not None


@contextlib.contextmanager
def small_disk(admin: psycopg.Connection) -> Iterator[str]:
    """A tablespace on a file system of 4 MiB; only root can make one."""
    data = admin.execute("SELECT current_setting('data_directory')").fetchone()
    owner = Path(data[0]).stat()
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        disk = Path(made, "disk")
        disk.mkdir()
        options = f"size=4m,mode=0700,uid={owner.st_uid},gid={owner.st_gid}"
        mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)]
        if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            pytest.skip("only root can mount a small disk, and not on every machine")
        try:
            admin.execute(f"CREATE TABLESPACE small LOCATION '{disk}'".encode())
            yield "small"
            admin.execute("DROP TABLE IF EXISTS shop_product.filler")
            admin.execute("DROP TABLESPACE small")
        finally:
            subprocess.run(["umount", "--lazy", str(disk)], check=True)


async def test_wrong_argument_type_is_a_fault_and_not_unavailable(database: Database) -> None:
    with pytest.raises(asyncpg.DataError):
        await database.fetchrow("SELECT $1::int", "text")


async def test_unavailable_database_is_reported_clearly(role_url: Callable[[str], str]) -> None:
    with pytest.raises(StartError, match=r"127\.0\.0\.1:1/x does not answer"):
        await connect_database("postgresql://role:secret@127.0.0.1:1/x", 1, limit_s=0.1)
    wrong = role_url("product").rpartition("/")[0] + "/no_such_database"
    with pytest.raises(StartError, match="refuses") as refusal:
        await connect_database(wrong, 1, limit_s=0.1)
    assert urlsplit(wrong).password not in str(refusal.value)
