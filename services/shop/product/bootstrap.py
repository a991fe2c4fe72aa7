"""Wires the product service: database, use cases, protocols."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from shop.platform.access.rules import Authenticator
from shop.platform.config import ServiceConfig
from shop.platform.database.store import opened_store
from shop.platform.page_token import DEFAULT_KEY
from shop.platform.serve import Protocols, run_servers
from shop.product.grpc import register
from shop.product.memory import MemoryProductStore
from shop.product.postgres import PostgresProductStore
from shop.product.service import ProductService

EXAMPLE_URL = "postgresql://shop_product:…@127.0.0.1:18060/shop_trial"


@asynccontextmanager
async def bootstrap(config: ServiceConfig) -> AsyncIterator[ProductService]:
    """Opens what the catalogue needs and gives its use cases.

    Args:
        config: Names the database.

    Raises:
        ConfigError: A setting is missing.
        StartError: The database does not answer.
    """
    async with opened_store(config, EXAMPLE_URL, PostgresProductStore, MemoryProductStore.load) as store:
        yield ProductService(store, page_token_key=config.page_token_key)


def protocols(service: ProductService, page_token_key: bytes = DEFAULT_KEY) -> Protocols:
    """Returns what serves the catalogue over each protocol."""

    def rest(authenticator: Authenticator) -> Any:
        # Here, so that a process that serves no REST does not load FastAPI.
        from shop.product.rest import build_app

        return build_app(service, authenticator, page_token_key)

    def graphql(authenticator: Authenticator) -> Any:
        # Here, so that a process that serves no GraphQL does not load Strawberry.
        from shop.product.graphql import build_app

        return build_app(service, authenticator)

    return Protocols(grpc=lambda server: register(server, service), rest=rest, graphql=graphql)


async def serve(config: ServiceConfig) -> None:
    """Serves the catalogue until the process is told to stop."""
    async with bootstrap(config) as service:
        await run_servers(config, protocols(service, config.page_token_key))
