"""The product and user services, as their clients see them, over each protocol."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from shop.clients import Address, Clients, Product, User
from shop.clients.connect import connect
from shop.clients.ports import ProductClient, UserClient
from shop.money import Money
from shop.platform.config import ServiceConfig
from shop.platform.grpc_server import grpc_server
from shop.product import bootstrap as product_bootstrap
from shop.product import grpc as product_grpc
from shop.user import bootstrap as user_bootstrap
from shop.user import grpc as user_grpc

PASSWORD = "correct horse"
ADDRESS = Address("Ada Lovelace", "Hauptstraße 1", "Berlin", "10115", "DE")


def _grpc(register: Callable[..., list[str]], service: Any) -> Any:
    return grpc_server("127.0.0.1:0", lambda server: register(server, service))


# One entry a protocol: its scheme, and what serves each service over it.
PROTOCOLS: dict[str, dict[str, Callable[[Any], Any]]] = {
    "grpc": {
        "product": lambda service: _grpc(product_grpc.register, service),
        "user": lambda service: _grpc(user_grpc.register, service),
    },
}
BOOTSTRAPS: dict[str, Callable[[ServiceConfig], Any]] = {
    "product": product_bootstrap.bootstrap,
    "user": user_bootstrap.bootstrap,
}


@pytest.fixture(params=sorted(PROTOCOLS))
def protocol(request: pytest.FixtureRequest) -> str:
    """Every test of behaviour runs over each protocol."""
    return str(request.param)


@asynccontextmanager
async def running(name: str, protocol: str, config: ServiceConfig) -> AsyncIterator[Clients]:
    """A service on the tests' database, and clients of which the one of this service is connected."""
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(BOOTSTRAPS[name](config))
        address = await stack.enter_async_context(PROTOCOLS[protocol][name](service))
        yield await stack.enter_async_context(connect({name: f"{protocol}://{address}"}, "test"))


@pytest.fixture
async def product(protocol: str, role_url: Callable[[str], str]) -> AsyncIterator[ProductClient]:
    """A client of the product service."""
    config = ServiceConfig(component="product", database_url=role_url("product"), database_pool=4)
    async with running("product", protocol, config) as clients:
        yield clients.product


@pytest.fixture
async def user(protocol: str, role_url: Callable[[str], str], keys: Any) -> AsyncIterator[UserClient]:
    """A client of the user service."""
    config = ServiceConfig(
        component="user",
        database_url=role_url("user"),
        database_pool=4,
        jwt_private_key_file=str(keys.private_file),
    )
    async with running("user", protocol, config) as clients:
        yield clients.user


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
    """Adds a user with an e-mail address of its own."""

    async def make(*, name: str = "Ada", email: str = "", password: str = PASSWORD) -> User:
        email = email or f"{uuid.uuid4().hex}@example.com"
        return await user.create_user(email=email, name=name, address=ADDRESS, password=password)

    return make
