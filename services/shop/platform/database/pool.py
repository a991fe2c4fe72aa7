"""A service's connections to PostgreSQL."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from types import MappingProxyType
from typing import Any, TypeAlias, cast

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from shop.errors import Conflict, DeadlineExceeded, Unavailable
from shop.platform.config import StartError
from shop.platform.database.fair_pool import FairPool
from shop.platform.database.metered_pool import MeteredPool, metered_connection
from shop.platform.database.statements import Statement, TracedConnection
from shop.platform.deadline import passed, remaining
from shop.platform.telemetry.meters import Meters
from shop.platform.telemetry.recorder import INTERNAL
from shop.platform.telemetry.tracing import UNTRACED, Ending, begin

log = logging.getLogger(__name__)

CONNECT_LIMIT_S = 20.0
CLOSE_LIMIT_S = 3.0
CONNECT_PAUSE_S = 0.2
CONNECT_TIMEOUT_S = 5.0
ACQUIRE_LIMIT_S = 5.0
RESET_LIMIT_S = 3.0
"""How long a connection may take to become usable again after a statement was cut off, in seconds."""

LATE_S = 0.1
"""How long a request whose time is up still waits for its connection to become usable again, in seconds."""

Connection: TypeAlias = TracedConnection
LentConnection: TypeAlias = "PoolConnectionProxy[asyncpg.Record]"
"""A connection on loan from a pool: it has the methods of a connection."""

_PASSED = "the deadline of the request passed in the database"


class Database:
    """The connections of one service."""

    def __init__(self, pool: FairPool | MeteredPool) -> None:
        self._pool = pool
        self._returning: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[Connection]:
        """Lends a connection without a transaction; each statement on it is traced and ends with the caller's deadline.

        Raises `Unavailable` if the database does not answer, and `DeadlineExceeded` if the caller's time is up, which
        includes the wait for a connection. Raises `Conflict` for a deadlock, or a lock that another call holds.
        """
        with _told_as_shop_errors():
            # This span need not become the current span, as it has no child spans.
            span = begin("pool.acquire", INTERNAL)
            with UNTRACED if span is None else Ending(span):
                # The pool's own limit would start a task for each call.
                async with asyncio.timeout(remaining() or ACQUIRE_LIMIT_S):
                    lent = await self._pool.acquire()
            try:
                yield cast(Connection, lent)
            except BaseException:
                await self._give_back(lent)
                raise
            await self._pool.release(lent)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Lends a connection like `acquire`, but in a READ COMMITTED transaction, which an error rolls back."""
        async with self.acquire() as connection, connection.transaction():
            yield connection

    async def fetch(self, statement: Statement | str, *args: Any) -> list[asyncpg.Record]:
        """Runs one statement on a connection from the pool; returns the statement's rows."""
        async with self.acquire() as connection:
            return await connection.fetch(statement, *args)

    async def fetchrow(self, statement: Statement | str, *args: Any) -> asyncpg.Record | None:
        """Runs one statement on a connection from the pool; returns the first row."""
        async with self.acquire() as connection:
            return await connection.fetchrow(statement, *args)

    async def _give_back(self, connection: LentConnection) -> None:
        """Gives back a connection whose use ended early, and on which a statement may still be running.

        This waits for the end of that statement, so that the caller's next step cannot overtake the statement. A caller
        whose time is already up waits only for a moment.
        """
        returned = asyncio.create_task(self._rolled_back(connection))
        self._returning.add(returned)
        returned.add_done_callback(self._log_failure)
        await asyncio.wait([returned], timeout=LATE_S if passed() else None)

    async def _rolled_back(self, connection: LentConnection) -> None:
        """Ends a transaction whose rollback was cut off; asyncpg would report this state as an error."""
        try:
            if connection.is_in_transaction():
                with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                    await connection.execute("ROLLBACK", timeout=RESET_LIMIT_S)
        finally:
            await self._pool.release(connection, timeout=RESET_LIMIT_S)

    def _log_failure(self, task: asyncio.Task[None]) -> None:
        self._returning.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("a connection was cut off: %s", type(error).__name__)

    async def close(self) -> None:
        """Closes the connections; connections still on loan are cut after a moment."""
        try:
            async with asyncio.timeout(CLOSE_LIMIT_S):
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()


async def connect_database(
    url: str,
    pool_size: int,
    *,
    limit_s: float = CONNECT_LIMIT_S,
    settings: Mapping[str, str] = MappingProxyType({}),
    name: str = "requests",
    meters: Meters | None = None,
) -> Database:
    """Opens the connections of a service, and waits up to `limit_s` seconds for a database that is still starting.

    Raises `StartError` if the database did not answer in time, or refused the role.

    Args:
        url: postgresql://role:password@host:port/database.
        name: Name in the metrics that distinguishes these connections from the process's others.
    """
    give_up_at = asyncio.get_running_loop().time() + limit_s
    while True:
        try:
            kind = TracedConnection if meters is None else metered_connection(meters)
            pool = FairPool(await _open(url, pool_size, settings, kind))
            return Database(pool if meters is None else MeteredPool(pool, name, meters))
        except (OSError, TimeoutError, asyncpg.CannotConnectNowError) as error:
            if asyncio.get_running_loop().time() >= give_up_at:
                raise StartError(f"the database at {_place(url)} does not answer: {error}; is it running?") from error
            await asyncio.sleep(CONNECT_PAUSE_S)
        except (asyncpg.PostgresError, ValueError) as error:
            raise StartError(f"the database at {_place(url)} refuses SHOP_DATABASE_URL: {error}") from error


def _open(
    url: str, pool_size: int, settings: Mapping[str, str], connection_class: type[TracedConnection]
) -> asyncpg.Pool[asyncpg.Record]:
    """Returns a pool, which opens when it is awaited."""
    return asyncpg.create_pool(
        url,
        connection_class=connection_class,
        min_size=pool_size,
        max_size=pool_size,
        max_inactive_connection_lifetime=0,
        timeout=CONNECT_TIMEOUT_S,
        statement_cache_size=256,
        max_cached_statement_lifetime=0,
        # Limits for work without a deadline are settings of the role (shop.database.migrate).
        server_settings={
            "application_name": "shop",
            # PostgreSQL's just-in-time compilation is off: no statement here runs long enough to benefit from it.
            "jit": "off",
            "timezone": "UTC",
            **settings,
        },
    )


@contextmanager
def _told_as_shop_errors() -> Iterator[None]:
    """Turns database errors into the errors that a service raises."""
    try:
        yield
    except asyncpg.QueryCanceledError as error:
        raise DeadlineExceeded(_PASSED) from error
    except TimeoutError as error:
        if passed():
            raise DeadlineExceeded(_PASSED) from error
        raise Unavailable("the database does not answer in time; try again") from error
    except (asyncpg.DeadlockDetectedError, asyncpg.SerializationError, asyncpg.LockNotAvailableError) as error:
        raise Conflict("another call is changing the same thing; try again") from error
    except ValueError:
        # An argument of the wrong type is a fault of this program, and asyncpg calls it an InterfaceError too.
        raise
    except (
        OSError,
        asyncpg.PostgresConnectionError,
        asyncpg.OperatorInterventionError,
        asyncpg.InterfaceError,
        # The statement ran between the server's last message and the end of the connection.
        asyncpg.InternalClientError,
    ) as error:
        raise Unavailable("the database does not answer; try again") from error
    except asyncpg.InsufficientResourcesError as error:
        # Nothing is wrong with the request, and a later attempt may succeed.
        raise Unavailable("the database is out of disk space, memory or connections; try again later") from error
    except asyncpg.ReadOnlySQLTransactionError as error:
        # A standby that has not been promoted yet, or a database that an operator has made read-only.
        raise Unavailable("the database accepts no changes now; try again later") from error


def _place(url: str) -> str:
    """Returns the part of the URL that we may show: without role and password."""
    return url.rpartition("@")[2] or "SHOP_DATABASE_URL"
