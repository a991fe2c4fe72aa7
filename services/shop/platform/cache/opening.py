"""Puts a cache in front of a service's database, if its configuration names one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from shop.platform.cache.entries import Entries, T
from shop.platform.config import ServiceConfig
from shop.platform.process.runtime import Runtime

S = TypeVar("S")
C = TypeVar("C")


@asynccontextmanager
async def behind_cache(
    config: ServiceConfig, runtime: Runtime, store: S, form: type[T], cached: Callable[[S, Entries[T]], C]
) -> AsyncIterator[S | C]:
    """Yields the store that a service reads from: a cached store, or the database's store itself."""
    if config.cache_url is None:
        yield store
        return
    # Not imported at the top of the module: a service without a cache need not load the cache's client.
    from shop.platform.cache.connections import CacheConnections

    connections = CacheConnections(config.cache_url, runtime.note_cache, limit_s=config.cache_limit_ms / 1_000)
    await connections.open()
    try:
        yield cached(
            store, Entries(connections, form, namespace=config.cache_namespace, bound_ms=config.cache_bound_ms)
        )
    finally:
        await connections.close()
