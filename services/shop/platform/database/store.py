"""A service's store: in its database, unless the program that starts the service provides another store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeAlias, TypeVar

from shop.platform.config import ServiceConfig, require_setting
from shop.platform.database.pool import Database, connect_database
from shop.platform.process.runtime import Runtime

S = TypeVar("S")
OpenStore: TypeAlias = Callable[[ServiceConfig, Runtime], AbstractAsyncContextManager[S]]
"""Opens the store of a service for as long as its context lasts."""


def database_url(config: ServiceConfig) -> str:
    """Returns the URL of the service's database; raises `ConfigError` if there is none."""
    example = f"postgresql://shop_{config.component}:…@127.0.0.1:18060/shop_trial"
    return require_setting(config.database_url, "SHOP_DATABASE_URL", example)


@asynccontextmanager
async def opened_database(config: ServiceConfig, runtime: Runtime) -> AsyncIterator[Database]:
    """Connects to the service's database while the context lasts; raises `ConfigError` without one, or `StartError`."""
    database = await connect_database(database_url(config), config.database_pool, meters=runtime.meters)
    try:
        yield database
    finally:
        await database.close()


def in_postgres(make: Callable[[Database], S]) -> OpenStore[S]:
    """Returns a function that opens a store in the service's database; it raises the errors of `opened_database`."""

    @asynccontextmanager
    async def open_store(config: ServiceConfig, runtime: Runtime) -> AsyncIterator[S]:
        async with opened_database(config, runtime) as database:
            yield make(database)

    return open_store
