"""`GetProduct` on grpc.aio and asyncpg alone: `python -m platform_bench.bare.product_grpc`."""

# The method's name and arguments are the contract's.
# ruff: noqa: N802

from __future__ import annotations

import asyncio
import os
from typing import Any

import grpc
import uvloop
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from platform_bench.bare.connections import Connections, connect
from shop.platform.config import ServiceConfig, required
from shop.platform.grpc.server import options
from shop.product.postgres import GET
from shop.stubs import money_pb2, product_pb2_grpc
from shop.stubs import product_pb2 as pb


class BareProductServicer(product_pb2_grpc.ProductServiceServicer):
    """Answers `GetProduct`.

    Args:
        connections: Connections that nobody uses.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def GetProduct(self, request: pb.GetProductRequest, context: Any) -> pb.Product:
        """Returns the product with an id."""
        connection = self._connections.pop()
        try:
            row = await connection.fetchrow(GET, request.id)
        finally:
            self._connections.append(connection)
        if row is None:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"there is no product {request.id}")
            raise AssertionError("abort raises")
        id_, title, description, category, amount_minor, currency, stock = row
        return pb.Product(
            id=id_,
            title=title,
            description=description,
            category=category,
            price=money_pb2.Money(amount_minor=amount_minor, currency=currency),
            stock=stock,
        )


async def serve(config: ServiceConfig) -> None:
    """Serves until the process is stopped."""
    url = required(config.database_url, "SHOP_DATABASE_URL", "postgresql://…")
    server = grpc.aio.server(options=options(config.connection_age_s))
    connections = await connect(url, config.database_pool)
    servicer = BareProductServicer(connections)  # type: ignore[abstract] # its other methods answer UNIMPLEMENTED
    product_pb2_grpc.add_ProductServiceServicer_to_server(servicer, server)
    checks = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(checks, server)
    server.add_insecure_port(required(config.listen_grpc, "SHOP_LISTEN_GRPC", "127.0.0.1:18020"))
    await server.start()
    await checks.set("", health_pb2.HealthCheckResponse.SERVING)
    await server.wait_for_termination()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(ServiceConfig.from_env(os.environ)))
