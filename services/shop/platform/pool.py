"""A pool of connections to PostgreSQL that costs a call next to nothing while a connection is free.

asyncpg's own pool makes a proxy, two tasks and two timers for every call; this one takes a connection from a list and
puts it back. What a connection that was left in the middle of a statement or a transaction needs is done by asyncpg,
apart from the call.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import TypeAlias

import asyncpg

from shop.platform.backstop import Backstop
from shop.platform.statement_tracing import TracedConnection

RESET_LIMIT_S = 3.0

Connection: TypeAlias = TracedConnection


class Pool:
    """A number of connections, each lent to one caller at a time; callers who find none free wait in turn.

    A connection that is lost leaves its place vacant, and the next caller whose turn it is connects anew.

    Args:
        connect: Opens a connection.
        size: Number of connections, at least 1.
    """

    def __init__(self, connect: Callable[[], Awaitable[Connection]], size: int) -> None:
        self._connect = connect
        self._size = size
        self._free: list[Connection] = []
        self._vacant = size
        self._waiting: deque[asyncio.Future[Connection | None]] = deque()
        self._connections: set[Connection] = set()
        self._resets: set[asyncio.Task[None]] = set()
        self._closing = False

    async def open(self) -> None:
        """Opens all connections.

        Raises:
            Exception: What `connect` raised; no connection is left open.
        """
        opened = await asyncio.gather(*(self._connect() for _ in range(self._size)), return_exceptions=True)
        self._connections = {one for one in opened if not isinstance(one, BaseException)}
        for one in opened:
            if isinstance(one, BaseException):
                self.terminate()
                raise one
        self._free, self._vacant = list(self._connections), 0

    def take(self) -> Connection | None:
        """Lends a free connection, the one that was used last; None if there is none."""
        while self._free:
            connection = self._free.pop()
            if not connection.is_closed():
                return connection
            self._note_lost(connection)
        return None

    async def acquire(self, limit_s: float) -> Connection:
        """Lends a connection, waiting for one if need be.

        Args:
            limit_s: How long to wait, in seconds.

        Raises:
            TimeoutError: There was none in time.
            asyncpg.InterfaceError: The pool is closed.
            OSError: The database does not answer; so do errors of asyncpg.
        """
        if self._closing:
            raise asyncpg.InterfaceError("the pool is closed")
        connection = self.take()
        if connection is not None:
            return connection
        with Backstop(limit_s):
            connection = await self._next()
            return connection if connection is not None else await self._replacement()

    def put(self, connection: Connection) -> None:
        """Takes a connection back that a statement outside a transaction has just been answered on."""
        if self._waiting:
            self._pass_on(connection)
        else:
            self._free.append(connection)

    def release(self, connection: Connection, *, interrupted: bool) -> asyncio.Task[None] | None:
        """Takes a connection back.

        Args:
            connection: The connection.
            interrupted: Whether what it was lent for ended early, so that a statement may still run or a transaction
                be open. Such a connection, or one inside a transaction, is lent again only after it was reset.

        Returns:
            The reset, if there is one. After it, the statement has run or it never will.
        """
        if connection.is_closed():
            self._note_lost(connection)
        elif interrupted or connection.is_in_transaction():
            # Without the caller's context: the reset is not part of its trace, nor bound to its deadline.
            reset = asyncio.get_running_loop().create_task(self._reset(connection), context=Context())
            self._resets.add(reset)
            reset.add_done_callback(self._resets.discard)
            return reset
        else:
            self._pass_on(connection)
        return None

    async def close(self, limit_s: float) -> None:
        """Closes each connection once nobody uses it; those still lent after a time are cut.

        Args:
            limit_s: How long to wait, in seconds.
        """
        self._closing = True
        try:
            async with asyncio.timeout(limit_s):
                for _ in range(self._size):
                    connection = await self._next()
                    if connection is not None:
                        await connection.close()
        except TimeoutError:
            self.terminate()

    def terminate(self) -> None:
        """Cuts all connections."""
        for connection in self._connections:
            connection.terminate()

    async def _next(self) -> Connection | None:
        """Waits its turn; returns a connection, or None for a vacant place."""
        connection = self.take()
        if connection is not None:
            return connection
        if self._vacant:
            self._vacant -= 1
            return None
        turn: asyncio.Future[Connection | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            return await turn
        except BaseException:
            # Whoever is cancelled after its turn has come passes it on.
            if not turn.cancelled():
                self._pass_on(turn.result())
            raise

    async def _replacement(self) -> Connection:
        try:
            connection = await self._connect()
        except BaseException:
            self._pass_on(None)
            raise
        self._connections.add(connection)
        return connection

    def _pass_on(self, connection: Connection | None) -> None:
        """Gives a connection, or a vacant place, to the caller who has waited longest."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(connection)
                return
        if connection is None:
            self._vacant += 1
        else:
            self._free.append(connection)

    def _note_lost(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self._pass_on(None)

    async def _reset(self, connection: Connection) -> None:
        """Waits until the database has cancelled a statement, rolls back, and makes the session as good as new."""
        try:
            await connection.reset(timeout=RESET_LIMIT_S)
            if connection.is_in_transaction():
                # A BEGIN was cut off whose answer came only now.
                connection.terminate()
        except Exception:
            connection.terminate()
        finally:
            if connection.is_closed():
                self._note_lost(connection)
            else:
                self._pass_on(connection)
