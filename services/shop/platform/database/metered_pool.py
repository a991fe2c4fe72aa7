"""A connection pool with metrics (https://opentelemetry.io/docs/specs/semconv/database/database-metrics/)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from shop.platform.database.fair_pool import FairPool
from shop.platform.database.statements import Statement, T, TracedConnection
from shop.platform.telemetry.metering import measure, note_since
from shop.platform.telemetry.meters import Meters

_POOL, _STATE = "db.client.connection.pool.name", "db.client.connection.state"


def metered_connection(meters: Meters) -> type[TracedConnection]:
    """Returns the class of connections whose statements are measured; asyncpg creates the connections."""
    timing = meters.statements

    class MeteredConnection(TracedConnection):
        def _trace(self, statement: Statement, call: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
            return super()._trace(statement, measure(timing, ("postgresql", statement.name), call))

    return MeteredConnection


class MeteredPool:
    """Wraps a pool, and has the pool's methods that we use."""

    def __init__(self, pool: FairPool, name: str, meters: Meters) -> None:
        self.close, self.terminate = pool.close, pool.terminate
        self._pool = pool
        self._labels = (name,)
        self._timeouts = meters.timeouts.labels(name)
        self._meters = meters
        self._pending = 0
        self._lent: dict[Any, float] = {}

        def show(what: str, about: str, read: Any, **state: str) -> None:
            meters.gauge(f"db.client.connection.{what}", about, read, attributes={_POOL: name, **state})

        show("count", "Connections that are open.", pool.get_idle_size, **{_STATE: "idle"})
        show("count", "", lambda: pool.get_size() - pool.get_idle_size(), **{_STATE: "used"})
        show("max", "Maximum number of connections.", pool.get_max_size)
        show("pending_requests", "Requests that wait for a connection.", lambda: self._pending)

    async def acquire(self) -> PoolConnectionProxy[asyncpg.Record]:
        began = time.perf_counter()
        self._pending += 1
        try:
            connection = await self._pool.acquire()
        except (TimeoutError, asyncio.CancelledError):
            self._timeouts.inc()
            raise
        finally:
            self._pending -= 1
            note_since(self._meters.waits, self._labels, began)
        self._lent[connection] = time.perf_counter()
        return connection

    def release(self, connection: Any, **how: Any) -> Coroutine[Any, Any, None]:
        note_since(self._meters.uses, self._labels, self._lent.pop(connection))
        return self._pool.release(connection, **how)
