"""A connection pool that serves requests in the order in which they came."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
from asyncpg.pool import PoolConnectionProxy


class FairPool:
    """Wraps a pool, and has the pool's methods that we use.

    asyncpg's pool gives a free connection to the request that asks next, even if others have waited for longer. Under
    load, some requests would then wait for seconds, while most do not wait.
    """

    def __init__(self, pool: asyncpg.Pool[asyncpg.Record]) -> None:
        self.close, self.terminate = pool.close, pool.terminate
        self.get_size, self.get_idle_size, self.get_max_size = pool.get_size, pool.get_idle_size, pool.get_max_size
        self._pool = pool
        self._turns = asyncio.Semaphore(pool.get_max_size())

    async def acquire(self) -> PoolConnectionProxy[asyncpg.Record]:
        await self._turns.acquire()
        try:
            return await self._pool.acquire()
        except BaseException:
            self._turns.release()
            raise

    async def release(self, connection: Any, **how: Any) -> None:
        try:
            await self._pool.release(connection, **how)
        finally:
            self._turns.release()
