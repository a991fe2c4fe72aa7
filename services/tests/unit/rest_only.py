"""Serves a service over REST and calls it over REST; prints which libraries of other protocols were loaded."""

from __future__ import annotations

import asyncio
import sys

import shop.notification.bootstrap
import shop.order.bootstrap
import shop.payment.bootstrap
import shop.user.bootstrap  # noqa: F401 - every component's wiring is loaded
from shop.clients.protocol_by_address import connect
from shop.money import Money
from shop.platform.config import ServiceConfig
from shop.platform.serve import servers
from shop.product.bootstrap import offer
from shop.values.product import Product

TEA = Product(1, "Tea pot", "Holds tea.", "c0001", Money(1999, "EUR"), 10)


class Shelf:
    async def get_product(self, _product_id: int) -> Product:
        return TEA

    def __getattr__(self, _name: str) -> object:
        return self.get_product


async def main() -> None:
    config = ServiceConfig(component="product", listen_rest="127.0.0.1:0")
    async with (
        servers(config, offer(Shelf())) as served,  # type: ignore[arg-type]
        connect({"product": f"http://{served['rest']}"}, "test") as clients,
    ):
        assert await clients.product.get_product(1) == TEA


asyncio.run(main())
print(*sorted({module.partition(".")[0] for module in sys.modules} & {"grpc", "thrift", "prometheus_client"}))
