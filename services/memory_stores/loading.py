"""Fills a store in memory from the service's database, which the store no longer needs afterwards."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from msgspec.structs import replace

from shop.platform.config import ServiceConfig
from shop.platform.database.pool import Connection
from shop.platform.database.store import OpenStore, opened_database
from shop.platform.process.runtime import Runtime

S = TypeVar("S")


def in_memory(load: Callable[[Connection], Awaitable[S]]) -> OpenStore[S]:
    """Returns a function that opens a store of the rows in the service's database; changes stay in memory."""

    @asynccontextmanager
    async def open_store(config: ServiceConfig, runtime: Runtime) -> AsyncIterator[S]:
        async with (
            opened_database(replace(config, database_pool=1), runtime) as database,
            database.transaction() as connection,
        ):
            # The role's limit is for requests; reading whole tables may take longer.
            await connection.execute("SET LOCAL statement_timeout = 0")
            store = await load(connection)
        yield store

    return open_store
