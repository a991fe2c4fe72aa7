"""`GET /v1/products/{product_id}` on FastAPI and asyncpg alone: `python -m platform_bench.bare.product_rest`."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import msgspec
import uvicorn
import xxhash
from fastapi import FastAPI, HTTPException, Path, Response

from platform_bench.bare.connections import Connections, connect
from shop.fields import LARGEST_ID
from shop.money import Money
from shop.platform.config import ServiceConfig, required, split_address
from shop.platform.http.server import KEEP_ALIVE_S
from shop.product.postgres import GET
from shop.resources.documents import ProductDocument

ProductId = Annotated[int, Path(ge=1, le=LARGEST_ID)]

encode = msgspec.json.Encoder().encode


def build_app(url: str, count: int) -> FastAPI:
    """Returns the application.

    Args:
        url: URL of the database.
        count: Number of connections.
    """
    connections: Connections = []

    @asynccontextmanager
    async def connected(_app: FastAPI) -> AsyncIterator[None]:
        connections.extend(await connect(url, count))
        yield
        for connection in connections:
            await connection.close()

    off = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
    app = FastAPI(lifespan=connected, telemetry=off)  # type: ignore[arg-type]

    @app.get("/v1/products/{product_id}")
    async def get_product(product_id: ProductId, include: str = "") -> Response:
        if include:
            raise HTTPException(400, "reviews are not included here")
        connection = connections.pop()
        try:
            row = await connection.fetchrow(GET, product_id)
        finally:
            connections.append(connection)
        if row is None:
            raise HTTPException(404, f"there is no product {product_id}")
        id_, title, description, category, amount_minor, currency, stock = row
        document = ProductDocument(id_, title, description, category, Money(amount_minor, currency), stock)
        body = encode(document)
        headers = {
            "ETag": f'"{xxhash.xxh3_128_hexdigest(body)}"',
            "Cache-Control": "public, max-age=60",
            "Vary": "accept-encoding",
        }
        return Response(body, media_type="application/json", headers=headers)

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    return app


def serve(config: ServiceConfig) -> None:
    """Serves until the process is stopped."""
    url = required(config.database_url, "SHOP_DATABASE_URL", "postgresql://…")
    host, port = split_address(required(config.listen_rest, "SHOP_LISTEN_REST", "127.0.0.1:18021"))
    uvicorn.run(
        build_app(url, config.database_pool),
        host=host,
        port=port,
        loop="uvloop",
        http="httptools",
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
    )


if __name__ == "__main__":
    serve(ServiceConfig.from_env(os.environ))
