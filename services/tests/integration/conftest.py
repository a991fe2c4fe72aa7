"""Fixtures for the services as their clients see them, over each protocol."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, closing
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import psycopg
import pytest

from conforming import conforming
from connect_client import connected
from dataset.documents import documents_table
from dataset.seed import copy_table
from mesh.description.topology import GATEWAYS, Protocol
from otlp_collector import Collector
from served_shop import BOOTSTRAPS, served_service
from shop.contract.ports import ProductClient, UserClient
from shop.money import Money
from shop.order.bootstrap import OrderParts
from shop.platform.config import ServiceConfig
from shop.platform.database.pool import Database, connect_database
from shop.platform.process.lifecycle import in_background
from shop.platform.process.runtime import Runtime
from shop.values.product import Product
from shop.values.user import Address, User

PASSWORD = "correct horse"
ADDRESS = Address("Ada Lovelace", "Hauptstraße 1", "Berlin", "10115", "DE")
PROTOCOLS = {"grpc": "grpc", "rest": "http", "graphql": "graphql", "thrift": "thrift", "connect": "connect"}
"""The values of `protocol`, and the scheme of the addresses for each."""
CONFORMING = conforming()
"""The program that is tested instead of the service in this process, if there is one."""
MEMORY, CACHED = "memory", "cached"
"""Additional values of `protocol`: a service over gRPC with its data in memory, or behind a cache."""
SERVED, WITH_CACHE = {"product", "user", "payment", "shop"}, {"product", "user"}
"""Fixtures of services that can keep their data in memory, and of services that can have a cache."""
TABLES = {"admin", "statements", "tables", "traces"}
"""Fixtures of tests that read the tables behind the services, or count the statements on them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Drops tests with data in memory or behind a cache if the service does not offer that, or if they read tables."""
    items[:] = [item for item in items if not isinstance(item, pytest.Function) or _makes_sense(item)]


def _makes_sense(item: pytest.Function) -> bool:
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    fixtures = set(item.fixturenames)
    if CONFORMING is not None:
        # The values of `contracted` already have only these protocols.
        default = GATEWAYS.get(CONFORMING.component, Protocol.GRPC)
        over = "contracted" in fixtures or parameters.get("protocol", default) in CONFORMING.protocols
        return CONFORMING.is_reached_by(item) and over
    protocol = parameters.get("protocol")
    if protocol == CACHED and ("shop" in fixtures or not fixtures & WITH_CACHE):
        return False  # over gRPC without a cache, which is tested anyway
    return protocol not in (MEMORY, CACHED) or (bool(fixtures & SERVED) and not fixtures & TABLES)


@pytest.fixture(scope="module", params=[*sorted(PROTOCOLS), MEMORY, CACHED])
def protocol(request: pytest.FixtureRequest) -> str:
    """Every test of behaviour runs over each protocol, with data in memory, and with data behind a cache."""
    return str(request.param)


@pytest.fixture
def tables() -> None:
    """Marks a test that needs tables behind the services."""


@pytest.fixture(scope="module")
def cache_url(protocol: str, request: pytest.FixtureRequest) -> str | None:
    """The cache of a module's tests, if they have one."""
    return str(request.getfixturevalue("valkey").url) if protocol == CACHED else None


@asynccontextmanager
async def started(
    protocol: str, config: ServiceConfig, folder: Path, *, runtime: Runtime, ours: bool = False
) -> AsyncIterator[str]:
    """A service on its database: the tested program, or our service in this process; yields its address for callers."""
    name = config.component
    async with AsyncExitStack() as stack:
        if CONFORMING is not None and CONFORMING.component == name and not ours:
            env = {
                "SHOP_DATABASE_URL": config.database_url or "",
                "SHOP_DATABASE_POOL": str(config.database_pool),
                "SHOP_JWT_PRIVATE_KEY_FILE": config.jwt_private_key_file or "",
                **{f"SHOP_PEER_{peer.upper()}": address for peer, address in config.peers.items()},
            }
            yield f"{PROTOCOLS[protocol]}://{stack.enter_context(CONFORMING.started(protocol, env, folder))}"
            return
        stores = [import_module(f"memory_stores.{name}").open_store] if protocol == MEMORY else []
        service = await stack.enter_async_context(BOOTSTRAPS[name].bootstrap(config, runtime, *stores))
        if isinstance(service, OrderParts):
            await stack.enter_async_context(in_background(service.recovery.run()))
            service = service.service
        over = "grpc" if protocol in (MEMORY, CACHED) else protocol
        addresses = await stack.enter_async_context(served_service(name, service, None, [over], runtime))
        yield f"{PROTOCOLS[over]}://{addresses[over]}"


@pytest.fixture(scope="session", name="started")
def started_fixture(runtime: Runtime) -> Callable[..., Any]:
    """Starts a service like `started`, with spans; for tests in other folders."""
    return partial(started, runtime=runtime)


@pytest.fixture(scope="session")
def started_shop(
    started: Callable[..., Any], keys: Any, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., AbstractAsyncContextManager[dict[str, str]]]:
    """Starts the services that a checkout needs, each over a protocol; yields their addresses for callers, by name."""

    @asynccontextmanager
    async def start(
        role_url: Callable[[str], str], over: Callable[[str], str], pool: int, **how: Any
    ) -> AsyncIterator[dict[str, str]]:
        addresses: dict[str, str] = {}
        async with AsyncExitStack() as stack:
            for name in ("product", "user", "payment", "order"):
                config = ServiceConfig(
                    component=name,
                    listen_grpc="127.0.0.1:0",
                    database_url=role_url(name),
                    database_pool=pool,
                    jwt_private_key_file=str(keys.private_file),
                    peers=dict(addresses) if name == "order" else {},
                )
                service = started(over(name), config, tmp_path_factory.mktemp(name), **how)
                addresses[name] = await stack.enter_async_context(service)
            yield addresses

    return start


@pytest.fixture
async def database(role_url: Callable[[str], str]) -> AsyncIterator[Database]:
    """A pool of two connections for the product service's role."""
    opened = await connect_database(role_url("product"), 2)
    yield opened
    await opened.close()


@pytest.fixture(scope="session")
def seeded_documents(shop_url: str) -> None:
    """Adds the technical documents to the database; tests only read them."""
    with closing(psycopg.connect(shop_url, autocommit=True)) as connection:
        copy_table(connection, documents_table(seed=1))


def client_of(name: str) -> Any:
    """Makes the fixture of a client of one service, shared by the tests of a module."""

    @pytest.fixture(scope="module", name=name)
    async def client(
        protocol: str,
        cache_url: str | None,
        role_url: Callable[[str], str],
        keys: Any,
        runtime: Runtime,
        tmp_path_factory: pytest.TempPathFactory,
        request: pytest.FixtureRequest,
    ) -> AsyncIterator[Any]:
        if name == "product":
            request.getfixturevalue("seeded_documents")
        config = ServiceConfig(
            component=name,
            database_url=role_url(name),
            database_pool=4,
            cache_url=cache_url,
            jwt_private_key_file=str(keys.private_file),
        )
        async with (
            started(protocol, config, tmp_path_factory.mktemp(name), runtime=runtime) as address,
            connected({name: address}, "test") as clients,
        ):
            yield getattr(clients, name)

    return client


product, user, payment = map(client_of, ("product", "user", "payment"))


@pytest.fixture
def category() -> str:
    """A category that only this test uses."""
    return f"t-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def make_product(product: ProductClient, category: str) -> Callable[..., Awaitable[Product]]:
    """Adds a product to this test's category."""

    async def make(*, title: str = "Tea pot", stock: int = 10, price: int = 1999) -> Product:
        return await product.create_product(
            title=title, description="Holds tea.", category=category, price=Money(price, "EUR"), stock=stock
        )

    return make


@pytest.fixture
def make_user(user: UserClient) -> Callable[..., Awaitable[User]]:
    """Adds a user with a new e-mail address."""

    async def make(*, name: str = "Ada", email: str = "", password: str = PASSWORD) -> User:
        email = email or f"{uuid.uuid4().hex}@example.com"
        return await user.create_user(email=email, name=name, address=ADDRESS, password=password)

    return make


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    made.server.start()
    yield made
    made.server.stop(0)
