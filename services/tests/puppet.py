"""A product service whose behaviour the test sets, served and called over each protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from memory_stores.product import MemoryProductStore
from served_shop import ANYWHERE, SCHEMES
from shop.clients.protocol_by_address import connect
from shop.contract.ports import Clients
from shop.errors import NotFound
from shop.money import Money
from shop.platform.config import ServiceConfig
from shop.platform.process.runtime import BARE, Runtime
from shop.platform.serve import servers
from shop.product.bootstrap import offer
from shop.product.service import ProductService
from shop.values.product import Product, ProductRow

POT = Product(1, "Tea pot", "Holds tea.", "c0001", Money(1999, "EUR"), 10)
ROWS = 25
Act = Callable[[], Awaitable[Product]]


async def give_pot() -> Product:
    return POT


def raising(error: BaseException) -> Act:
    async def act() -> Product:
        raise error

    return act


class Puppet(ProductService):
    """Runs the test's `act` when product 1 is read, on a delete, and after the first row of a stream."""

    def __init__(self, act: Act = give_pot) -> None:
        super().__init__(MemoryProductStore())
        self.act = act
        self.calls = 0

    async def get_product(self, product_id: int) -> Product:
        self.calls += 1
        if product_id != POT.id:
            raise NotFound(f"there is no product {product_id}")
        return await self.act()

    async def delete_product(self, product_id: int, *, expected: object = None) -> None:
        self.calls += 1
        await self.act()

    async def stream_product_rows(
        self, *, after_product_id: int = 0, limit: int = 0
    ) -> AsyncIterator[list[ProductRow]]:
        self.calls += 1
        for number in range(after_product_id + 1, min(after_product_id + (limit or ROWS), ROWS) + 1):
            if number == after_product_id + 2:
                await self.act()
            yield [ProductRow(number, "Tea pot", Money(1, "EUR"), 1)]


@asynccontextmanager
async def serving(
    protocol: str, puppet: ProductService, listen: str = ANYWHERE, runtime: Runtime = BARE, **settings: object
) -> AsyncIterator[str]:
    """Serves a puppet over one protocol of `SCHEMES`; yields the address."""
    config = ServiceConfig(component="product", **{f"listen_{protocol}": listen}, **settings)  # type: ignore[arg-type]
    async with servers(config, offer(puppet), runtime) as addresses:
        yield addresses[protocol]


@asynccontextmanager
async def connected(
    protocol: str, puppet: ProductService, runtime: Runtime = BARE, callers: Runtime = BARE
) -> AsyncIterator[Clients]:
    """Serves a puppet over one protocol; yields clients that call it, with a separate runtime."""
    async with (
        serving(protocol, puppet, runtime=runtime) as address,
        connect({"product": f"{SCHEMES[protocol]}://{address}"}, "test", runtime=callers) as clients,
    ):
        yield clients
