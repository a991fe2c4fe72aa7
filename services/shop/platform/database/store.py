"""Where a service keeps its data: in its database, or in memory that is filled from it at the start."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from shop.platform.config import ServiceConfig, required
from shop.platform.database.pool import Connection, Database, connect_database

if TYPE_CHECKING:
    from shop.instrument.meters import Meters

P = TypeVar("P")
M = TypeVar("M")


@asynccontextmanager
async def opened_store(
    config: ServiceConfig,
    example_url: str,
    in_postgres: Callable[[Database], P],
    in_memory: Callable[[Connection], Awaitable[M]],
    meters: Meters | None = None,
) -> AsyncIterator[P | M]:
    """Opens what a service keeps its data in for as long as the context lasts.

    Args:
        config: Names the database, and whether its rows are served from memory.
        example_url: A valid URL of the database, for messages.
        in_postgres: Makes the store over the database.
        in_memory: Makes the store of the rows that the database holds now; changes stay in memory.
        meters: Measures the connections and their statements; None where nothing is measured.

    Raises:
        ConfigError: The database is not named.
        StartError: The database does not answer.
    """
    database = await connect_database(
        required(config.database_url, "SHOP_DATABASE_URL", example_url),
        config.database_pool if config.store == "postgres" else 1,
        meters=meters,
    )
    try:
        if config.store == "postgres":
            yield in_postgres(database)
            return
        async with database.transaction() as connection:
            # The role's limit is for requests; whole tables may take longer.
            await connection.execute("SET LOCAL statement_timeout = 0")
            store = await in_memory(connection)
    finally:
        await database.close()
    yield store
