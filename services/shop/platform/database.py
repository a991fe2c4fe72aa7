"""A service's connections to PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeAlias, cast

import asyncpg
import asyncpg.pool

from shop.errors import Conflict, DeadlineExceeded, Unavailable
from shop.platform.deadline import passed, remaining
from shop.platform.errors import StartError
from shop.platform.statement_tracing import TracedConnection
from shop.platform.telemetry import child_span

CONNECT_LIMIT_S = 20.0
CLOSE_LIMIT_S = 3.0
CONNECT_PAUSE_S = 0.2
ACQUIRE_LIMIT_S = 5.0

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

_GONE = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InterfaceError,
)
_RIVALRY = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError, asyncpg.LockNotAvailableError)


class Database:
    """The pool of connections of one service.

    Args:
        pool: The open pool; `connect_database` makes it.
    """

    def __init__(self, pool: asyncpg.Pool[asyncpg.Record]) -> None:
        self._pool = pool

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[Connection]:
        """Lends a connection without a transaction.

        Every statement on it is traced and ends with the caller's deadline.

        Raises:
            Unavailable: The database does not answer.
            DeadlineExceeded: The caller's time passed, waiting for a connection included.
            Conflict: A deadlock, or a lock that another call holds.
        """
        with _as_shop_errors():
            with child_span("pool.acquire"):
                connection = await self._pool.acquire(timeout=remaining() or ACQUIRE_LIMIT_S)
            try:
                yield cast(Connection, connection)
            finally:
                await self._pool.release(connection, timeout=CLOSE_LIMIT_S)

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

    async def fetch(self, query: str, *args: Any) -> list[asyncpg.Record]:
        """Runs one statement on a connection of its own; returns its rows."""
        async with self.acquire() as connection:
            return await connection.fetch(query, *args)

    async def fetchrow(self, query: str, *args: Any) -> asyncpg.Record | None:
        """Runs one statement on a connection of its own; returns its first row."""
        async with self.acquire() as connection:
            return await connection.fetchrow(query, *args)

    async def close(self) -> None:
        """Closes the connections; those still lent are cut after a moment."""
        try:
            async with asyncio.timeout(CLOSE_LIMIT_S):
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()


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


async def _open(url: str, pool_size: int) -> asyncpg.Pool[asyncpg.Record]:
    return await asyncpg.create_pool(
        url,
        init_size=pool_size,
        min_size=pool_size,
        max_size=pool_size,
        max_queries=2**31,
        max_inactive_connection_lifetime=0,
        connection_class=TracedConnection,
        # The services keep nothing in a session (no SET, LISTEN, or session lock), and asyncpg rolls an open
        # transaction back before it calls this; so a release costs no round trip.
        reset=_keep,
        timeout=5,
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


async def _keep(_connection: object) -> None:
    """Leaves a session as it is."""


@contextmanager
def _as_shop_errors() -> Iterator[None]:
    try:
        yield
    except (TimeoutError, asyncpg.QueryCanceledError) as error:
        if isinstance(error, asyncpg.QueryCanceledError) or passed():
            raise DeadlineExceeded("the deadline of the request passed in the database") from error
        raise Unavailable("the database does not answer in time; try again") from error
    except _RIVALRY as error:
        raise Conflict("another call is changing the same thing; try again") from error
    except _GONE as error:
        # An argument of the wrong type is a fault of this program, and asyncpg calls it an InterfaceError too.
        if isinstance(error, ValueError):
            raise
        raise Unavailable("the database does not answer; try again") from error
    except asyncpg.InsufficientResourcesError as error:
        # Nothing is wrong with the request, and it may pass later.
        raise Unavailable("the database is out of disk space, memory or connections; try again later") from error


def _place(url: str) -> str:
    """Returns the part of the URL that may be shown: without role and password."""
    return url.rpartition("@")[2] or "SHOP_DATABASE_URL"
