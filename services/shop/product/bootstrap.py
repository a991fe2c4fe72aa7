"""Wires the product service: database, cache, use cases, protocols."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from shop.contract.calls import PRODUCT
from shop.platform.cache.opening import behind_cache
from shop.platform.config import ServiceConfig
from shop.platform.database.store import OpenStore, in_postgres
from shop.platform.http.edge_cache import edge_cache
from shop.platform.page_token import DEFAULT_KEY
from shop.platform.process.runtime import BARE, Runtime
from shop.platform.serve import Offer, run_servers
from shop.product.cached import AnnouncedProductStore, CachedProductStore
from shop.product.ports import ProductStore
from shop.product.postgres import PostgresProductStore
from shop.product.service import ProductService
from shop.values.product import Product

OPEN_STORE = in_postgres(PostgresProductStore)


@asynccontextmanager
async def bootstrap(
    config: ServiceConfig, runtime: Runtime = BARE, open_store: OpenStore[ProductStore] = OPEN_STORE
) -> AsyncIterator[ProductService]:
    """Opens what the catalogue needs and yields its use cases. Raises the errors of `opened_database`."""
    async with (
        open_store(config, runtime) as store,
        behind_cache(config, runtime, store, Product, CachedProductStore) as catalogue,
        edge_cache(config.edge_cache) as shared,
    ):
        announced = catalogue if shared is None else AnnouncedProductStore(catalogue, shared)
        yield ProductService(announced, page_token_key=config.page_token_key)


def offer(service: ProductService, page_token_key: bytes = DEFAULT_KEY) -> Offer:
    return Offer(PRODUCT, service, (page_token_key,))


async def serve(config: ServiceConfig, runtime: Runtime, open_store: OpenStore[ProductStore] = OPEN_STORE) -> None:
    async with bootstrap(config, runtime, open_store) as service:
        await run_servers(config, offer(service, config.page_token_key), runtime)
