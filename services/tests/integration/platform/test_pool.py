"""The connection pool: bounded, fair, safe to cancel, and usable again after the database was unavailable."""

from __future__ import annotations

import asyncio
import contextlib
import io
from collections.abc import Callable
from urllib.parse import urlsplit

import asyncpg
import pytest
from psycopg import Connection

from shop.errors import DeadlineExceeded, Unavailable
from shop.platform.database.pool import CLOSE_LIMIT_S, Database, connect_database
from shop.platform.deadline import deadline

SIZE = 2
"""The number of connections of `database`."""
BACKENDS = "FROM pg_stat_activity WHERE usename = 'shop_product'"
ACTIVE = "AND state = 'active'"
SLEEPING = f"{ACTIVE} AND query LIKE '%pg_sleep%'"


def backends(admin: Connection, which: str = "") -> int:
    """Returns the number of the role's connections at the server: all, or those with a condition."""
    [(count,)] = admin.execute(f"SELECT count(*) {BACKENDS} {which}".encode())
    return int(count)


async def wait_until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - the database signals nothing
            await asyncio.sleep(0.02)


async def test_callers_beyond_the_size_wait_in_turn(database: Database, admin: Connection) -> None:
    served: list[int] = []

    async def use(number: int) -> None:
        async with database.acquire() as connection:
            served.append(number)
            await connection.fetchval("SELECT 1")

    async with database.acquire(), database.acquire():
        waiting = [asyncio.create_task(use(number)) for number in range(20)]
        await asyncio.sleep(0.05)
        assert served == []
    await asyncio.gather(*waiting)
    assert served == list(range(20))
    assert backends(admin) == SIZE


async def test_no_request_overtakes_another_while_connections_come_back(database: Database) -> None:
    asked: list[tuple[int, int]] = []
    served: list[tuple[int, int]] = []

    async def ask_often(client: int) -> None:
        for number in range(20):
            asked.append((client, number))
            async with database.acquire() as connection:
                served.append((client, number))
                await connection.fetchval("SELECT 1")

    await asyncio.gather(*(ask_often(client) for client in range(10 * SIZE)))
    assert served == asked


async def test_requests_that_stop_waiting_leave_their_turns_to_others(database: Database) -> None:
    async with database.acquire(), database.acquire():
        waiting = [asyncio.create_task(database.fetchrow("SELECT 1")) for _ in range(3)]
        await asyncio.sleep(0.05)
        for one in waiting:
            one.cancel()
        await asyncio.wait(waiting)
    rows = [asyncio.create_task(database.fetchrow("SELECT 1")) for _ in range(2 * SIZE)]
    assert all(await asyncio.wait_for(asyncio.gather(*rows), 5))


async def test_connection_of_a_cancelled_statement_is_lent_only_once_nothing_runs_on_it(
    database: Database, admin: Connection
) -> None:
    async with database.acquire():  # of the two connections, everything below uses the other

        async def cut_off() -> None:
            async with database.acquire() as connection:
                await connection.fetch("SELECT pg_sleep(30)")

        for _ in range(5):
            work = asyncio.create_task(cut_off())
            await wait_until(lambda: backends(admin, SLEEPING) == 1)
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work
            assert await asyncio.wait_for(database.fetchrow("SELECT 1"), 5) is not None
            assert backends(admin, SLEEPING) == 0
    assert backends(admin) == SIZE


@pytest.mark.parametrize("error", [DeadlineExceeded, ZeroDivisionError])
async def test_transaction_that_fails_is_rolled_back(database: Database, error: type[Exception]) -> None:
    key = "00000000-0000-0000-0000-00000000000a"

    async def fail() -> None:
        async with database.transaction() as connection:
            await connection.execute("INSERT INTO reservation VALUES ($1, 'HELD')", key)
            if error is ZeroDivisionError:
                raise error
            await connection.fetch("SELECT pg_sleep(30)")

    for _ in range(3):
        with pytest.raises(error), deadline(0.5):
            await fail()
        # Each connection can begin a new transaction, and no connection sees the row.
        for _ in range(2 * SIZE):
            async with database.transaction() as connection:
                assert await connection.fetchval("SELECT 1 FROM reservation WHERE id = $1", key) is None


async def test_transaction_that_never_began_leaves_connections_that_can_begin_one(database: Database) -> None:
    async def begin_too_late() -> None:
        async with database.acquire() as lent:
            with deadline(0):
                async with lent.transaction():
                    pass

    for _ in range(2 * SIZE):
        with pytest.raises(DeadlineExceeded):
            await begin_too_late()
    for _ in range(2 * SIZE):
        async with database.transaction() as lent:
            assert lent.is_in_transaction()


async def test_an_unfinished_transaction_is_not_an_error_in_the_log(database: Database, log: io.StringIO) -> None:
    async def leave_open() -> None:
        async with database.acquire() as lent:
            await lent.execute("BEGIN")
            raise KeyError

    for _ in range(2 * SIZE):
        with pytest.raises(KeyError):
            await leave_open()
        async with database.acquire() as lent:
            assert not lent.is_in_transaction()
    assert log.getvalue() == ""


async def test_statements_after_an_abandoned_one_do_not_overtake_it(database: Database, admin: Connection) -> None:
    for _ in range(5):
        with pytest.raises(DeadlineExceeded), deadline(0.05):
            await database.fetch("SELECT pg_sleep(20)")
        assert backends(admin, ACTIVE) == 0


async def test_many_cancelled_at_random_moments_leave_a_pool_that_works(database: Database, admin: Connection) -> None:
    async def work(number: int) -> None:
        async with database.transaction() as connection:
            assert await connection.fetchval("SELECT $1::int", number) == number
            await connection.execute("SELECT pg_sleep(0.002)")
        row = await database.fetchrow("SELECT $1::int", number)
        assert row[0] == number

    tasks = [asyncio.create_task(work(number)) for number in range(200)]
    for number, task in enumerate(tasks):
        if number % 3 == 0:
            await asyncio.sleep(0.001)
            task.cancel()
    ends = await asyncio.gather(*tasks, return_exceptions=True)
    assert [end for end in ends if end is not None and not isinstance(end, asyncio.CancelledError)] == []
    rows = await asyncio.gather(*(database.fetchrow("SELECT $1::int", number) for number in range(50)))
    assert [row[0] for row in rows if row is not None] == list(range(50))
    assert backends(admin) <= SIZE


async def test_database_that_goes_away_is_unavailable_until_it_is_back(database: Database, admin: Connection) -> None:
    admin.execute("ALTER ROLE shop_product CONNECTION LIMIT 0")
    try:
        admin.execute(f"SELECT pg_terminate_backend(pid) {BACKENDS}".encode())
        await wait_until(lambda: backends(admin) == 0)
        await asyncio.sleep(0.05)
        for _ in range(3 * SIZE):
            with pytest.raises(Unavailable):
                await database.fetchrow("SELECT 1")
    finally:
        admin.execute("ALTER ROLE shop_product CONNECTION LIMIT -1")
    rows = await asyncio.gather(*(database.fetchrow("SELECT 1") for _ in range(20)))
    assert all(row is not None and row[0] == 1 for row in rows)
    assert backends(admin) == SIZE


async def test_connection_lost_while_lent_is_replaced_for_waiting_requests(
    database: Database, admin: Connection
) -> None:
    async def lose() -> None:
        async with database.acquire() as connection:
            pid = connection.get_server_pid()
            with contextlib.suppress(asyncpg.PostgresError):
                await connection.fetchval("SELECT pg_terminate_backend($1)", pid)
            await connection.fetchval("SELECT 1")

    losses = [asyncio.create_task(lose()) for _ in range(SIZE)]
    rows = await asyncio.gather(*(database.fetchrow("SELECT 1") for _ in range(10)), return_exceptions=True)
    for loss in losses:
        with pytest.raises(Unavailable):
            await loss
    assert [row for row in rows if isinstance(row, BaseException)] == []
    # A connection's place in the pool stays vacant until it is needed.
    async with database.acquire(), database.acquire():
        assert backends(admin) == SIZE


async def test_close_waits_for_lent_connections_and_then_cuts_them(
    role_url: Callable[[str], str], admin: Connection
) -> None:
    database = await connect_database(role_url("product"), SIZE)

    lent = asyncio.Semaphore(0)

    async def hold(seconds: float) -> None:
        async with database.acquire() as connection:
            lent.release()
            await asyncio.sleep(seconds)
            await connection.fetchval("SELECT 1")

    brief, endless = (asyncio.create_task(hold(seconds)) for seconds in (0.2, 2 * CLOSE_LIMIT_S))
    for _ in range(SIZE):
        await lent.acquire()
    await asyncio.wait_for(database.close(), 2 * CLOSE_LIMIT_S)
    await brief
    with pytest.raises(Unavailable):
        await endless
    with pytest.raises(Unavailable):
        await database.fetchrow("SELECT 1")
    await wait_until(lambda: backends(admin) == 0)


async def test_a_statement_between_a_server_s_last_words_and_the_end_of_its_connection_is_unavailable(
    role_url: Callable[[str], str], admin: Connection
) -> None:
    url = urlsplit(role_url("product"))
    said = asyncio.Event()
    between_them: set[asyncio.Task[None] | None] = set()

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)

    async def between(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        between_them.add(asyncio.current_task())
        from_server, to_server = await asyncio.open_connection(url.hostname, url.port)
        upwards = asyncio.create_task(forward(reader, to_server))
        upwards.add_done_callback(lambda _: to_server.close())
        await forward(from_server, writer)
        said.set()  # and the client's connection stays open
        await upwards
        writer.close()
        for one in (to_server, writer):
            with contextlib.suppress(OSError):
                await one.wait_closed()

    async with await asyncio.start_server(between, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        login = url.netloc.rpartition("@")[0]
        database = await connect_database(url._replace(netloc=f"{login}@127.0.0.1:{port}").geturl(), 1)
        try:
            admin.execute(f"SELECT pg_terminate_backend(pid) {BACKENDS}".encode())
            async with asyncio.timeout(10):
                await said.wait()
            with pytest.raises(Unavailable, match="the database does not answer"):
                await database.fetch("SELECT 1")
        finally:
            await database.close()
            # There is one task for each connection, and another for each abandoned statement.
            async with asyncio.timeout(10):
                await asyncio.gather(*filter(None, between_them))


async def test_a_database_that_accepts_no_changes_is_unavailable_for_them_alone(role_url: Callable[[str], str]) -> None:
    standby = await connect_database(role_url("product"), 1, settings={"default_transaction_read_only": "on"})
    try:
        with pytest.raises(Unavailable, match="the database accepts no changes now"):
            await standby.fetch("DELETE FROM product WHERE false")
        assert await standby.fetch("SELECT 1") != []
    finally:
        await standby.close()
