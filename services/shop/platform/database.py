"""A service's connections to PostgreSQL."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any

import asyncpg
from opentelemetry.trace import SpanContext

from shop.errors import Conflict, DeadlineExceeded, Unavailable
from shop.platform.backstop import Backstop, CallerLimit
from shop.platform.deadline import DEADLINE, passed, remaining
from shop.platform.errors import StartError
from shop.platform.pool import Connection as Connection
from shop.platform.pool import Pool
from shop.platform.spans import INTERNAL, RecordedSpan
from shop.platform.statement_tracing import TracedConnection, note_statement
from shop.platform.telemetry import UNTRACED, begin, note, sampled_parent

CONNECT_LIMIT_S = 20.0
CLOSE_LIMIT_S = 3.0
CONNECT_PAUSE_S = 0.2
CONNECT_TIMEOUT_S = 5.0
ACQUIRE_LIMIT_S = 5.0
LATE_RESET_S = 0.1
"""How long a request whose time is over waits for the end of its statement, in seconds."""

_PASSED = "the deadline of the request passed in the database"


class Loan:
    """Lends a connection for as long as the context lasts, and tells the database's errors as the shop's.

    Args:
        pool: The pool that it comes from.
    """

    __slots__ = ("_connection", "_pool")

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def __aenter__(self) -> Connection:
        parent = sampled_parent()
        start = 0 if parent is None else time.time_ns()
        connection = self._pool.take()
        if connection is None:
            connection = await _next_of(self._pool, parent)
        elif parent is not None:
            note("pool.acquire", INTERNAL, parent, start)
        self._connection = connection
        return connection

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._pool.release(self._connection, interrupted=False)
        else:
            await _give_back_after(error, self._connection, self._pool)


class Database:
    """The connections of one service.

    Args:
        pool: The open pool; `connect_database` makes it.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def acquire(self) -> Loan:
        """Lends a connection without a transaction.

        Every statement on it is traced and ends with the caller's deadline.

        Raises:
            Unavailable: The database does not answer.
            DeadlineExceeded: The caller's time passed, waiting for a connection included.
            Conflict: A deadlock, or a lock that another call holds.
        """
        return Loan(self._pool)

    async def _run(self, query: str, args: tuple[Any, ...], most: int) -> Any:
        """Runs one statement on a connection of its own, in the fewest steps if one is free, traced or not.

        Args:
            query: The statement.
            args: Its arguments.
            most: 1 for the first row, or None; 0 for all rows.
        """
        remaining()  # nothing is begun for a caller who has stopped waiting
        limit, parent = DEADLINE.get(), sampled_parent()
        start = 0 if parent is None else time.time_ns()
        connection = self._pool.take()
        if connection is None:
            connection = await _next_of(self._pool, parent)
        elif parent is not None:
            note("pool.acquire", INTERNAL, parent, start)
        start = 0 if parent is None else time.time_ns()
        try:
            if limit is None or limit.task is asyncio.current_task():
                rows = await connection.rows(query, args, most)
            else:
                # asyncpg's own limit is a timer of the event loop for each statement.
                with Backstop(limit.at - time.monotonic()):
                    rows = await connection.rows(query, args, most)
        except BaseException as error:
            if parent is not None:
                note_statement(query, parent, start, error)
            late = (
                isinstance(error, asyncio.CancelledError) and isinstance(limit, CallerLimit) and limit.was_late(_PASSED)
            )
            if isinstance(error, asyncpg.InvalidCachedStatementError | asyncpg.OutdatedSchemaCacheError):
                await connection.forget_statements()
            await _give_back_after(error, connection, self._pool, LATE_RESET_S if late else None)
            # The first of the two comes before anything has been done.
            if isinstance(error, asyncpg.InvalidCachedStatementError):
                return await self._run(query, args, most)
            raise
        if parent is not None:
            note_statement(query, parent, start)
        self._pool.put(connection)
        if most == 1:
            return rows[0] if rows else None
        return rows

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Lends a connection inside a READ COMMITTED transaction that commits at the end, or rolls back on an error.

        Raises:
            Unavailable: The database does not answer.
            DeadlineExceeded: The caller's time passed.
            Conflict: A deadlock, or a lock that another call holds.
        """
        async with self.acquire() as connection, connection.transaction():
            yield connection

    def fetch(self, query: str, *args: Any) -> Coroutine[Any, Any, list[asyncpg.Record]]:
        """Runs one statement on a connection of its own; returns its rows."""
        return self._run(query, args, 0)

    def fetchrow(self, query: str, *args: Any) -> Coroutine[Any, Any, asyncpg.Record | None]:
        """Runs one statement on a connection of its own; returns its first row."""
        return self._run(query, args, 1)

    async def close(self) -> None:
        """Closes the connections; those still lent are cut after a moment."""
        await self._pool.close(CLOSE_LIMIT_S)


async def connect_database(url: str, pool_size: int, *, limit_s: float = CONNECT_LIMIT_S) -> Database:
    """Opens the connections of a service, waiting for a database that is still starting.

    Args:
        url: postgresql://role:password@host:port/database.
        pool_size: Connections to keep open.
        limit_s: How long to try, in seconds.

    Raises:
        StartError: The database did not answer in time, or refused the role.
    """
    give_up_at = asyncio.get_running_loop().time() + limit_s
    while True:
        try:
            return Database(await _open(url, pool_size))
        except (OSError, TimeoutError, asyncpg.CannotConnectNowError) as error:
            if asyncio.get_running_loop().time() >= give_up_at:
                raise StartError(f"the database at {_place(url)} does not answer: {error}; is it running?") from error
            await asyncio.sleep(CONNECT_PAUSE_S)
        except (asyncpg.PostgresError, ValueError) as error:
            raise StartError(f"the database at {_place(url)} refuses SHOP_DATABASE_URL: {error}") from error


async def _open(url: str, pool_size: int) -> Pool:
    async def connect() -> Connection:
        return await asyncpg.connect(
            url,
            connection_class=TracedConnection,
            timeout=CONNECT_TIMEOUT_S,
            statement_cache_size=256,
            max_cached_statement_lifetime=0,
            # Limits for work without a deadline are settings of the role (shop.database.migrate).
            server_settings={
                "application_name": "shop",
                # No statement here runs long enough to gain from it.
                "jit": "off",
                "timezone": "UTC",
            },
        )

    pool = Pool(connect, pool_size)
    await pool.open()
    return pool


async def _next_of(pool: Pool, parent: RecordedSpan | SpanContext | None) -> Connection:
    """Waits for a connection; raises the shop's error if there is none in time."""
    try:
        # Not the current span: nothing else happens below it.
        with begin(RecordedSpan, "pool.acquire", INTERNAL, parent) or UNTRACED:
            return await pool.acquire(remaining() or ACQUIRE_LIMIT_S)
    except Exception as error:
        _raise_as_shop_error(error)
        raise


async def _give_back_after(
    error: BaseException, connection: Connection, pool: Pool, patience_s: float | None = None
) -> None:
    """Gives a connection back that an error ended the use of; raises the shop's error for it, if it has one.

    Args:
        error: The error.
        connection: The connection.
        pool: The pool that it comes from.
        patience_s: How long to wait until the connection is as good as new, in seconds; None for as long as that takes.
    """
    # A statement may still run, and asyncpg may take a transaction for open that never began.
    reset = pool.release(connection, interrupted=True)
    if reset is not None:
        # What the caller does next must not overtake a statement that it gave up.
        await asyncio.wait([reset], timeout=patience_s)
    _raise_as_shop_error(error)


def _raise_as_shop_error(error: BaseException) -> None:
    """Raises what the callers of a service are told about an error of the database; returns for any other error."""
    match error:
        case asyncpg.QueryCanceledError():
            raise DeadlineExceeded(_PASSED) from error
        case TimeoutError():
            if passed():
                raise DeadlineExceeded(_PASSED) from error
            raise Unavailable("the database does not answer in time; try again") from error
        case asyncpg.DeadlockDetectedError() | asyncpg.SerializationError() | asyncpg.LockNotAvailableError():
            raise Conflict("another call is changing the same thing; try again") from error
        case ValueError():
            # An argument of the wrong type is a fault of this program, and asyncpg calls it an InterfaceError too.
            return
        case (
            OSError()
            | asyncpg.PostgresConnectionError()
            | asyncpg.OperatorInterventionError()
            | asyncpg.InterfaceError()
        ):
            raise Unavailable("the database does not answer; try again") from error
        case asyncpg.InsufficientResourcesError():
            # Nothing is wrong with the request, and it may pass later.
            raise Unavailable("the database is out of disk space, memory or connections; try again later") from error


def _place(url: str) -> str:
    """Returns the part of the URL that may be shown: without role and password."""
    return url.rpartition("@")[2] or "SHOP_DATABASE_URL"
