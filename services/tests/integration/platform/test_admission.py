"""A service that does not keep up refuses what comes from outside, in each protocol, and nothing that is under way."""

from __future__ import annotations

from typing import Any

import grpc
import httpx
import pytest
from google.rpc import error_details_pb2, status_pb2

from shop.clients.connect import connect
from shop.errors import Unavailable
from shop.money import Money
from shop.platform.admission import PRIORITY, UNDER_WAY, Admission
from shop.platform.config import EDGE_MARK, ServiceConfig
from shop.platform.process.runtime import Runtime
from shop.platform.serve import servers
from shop.product.bootstrap import protocols
from shop.product.memory import MemoryProductStore
from shop.product.service import ProductService
from shop.stubs import product_pb2, product_pb2_grpc
from shop.values.product import Product

pytestmark = pytest.mark.integration
POT = Product(1, "Tea pot", "Holds tea.", "c0001", Money(1999, "EUR"), 10)
OUTSIDE = {EDGE_MARK: "1"}


class Shelf(ProductService):
    """A product service with one product."""

    async def get_product(self, _product_id: int) -> Product:
        return POT


SHELF = Shelf(MemoryProductStore())


@pytest.fixture
def overloaded() -> Runtime:
    """Of a process that lets in nothing new."""
    limit = Admission()
    limit.new.value = 0.0
    return Runtime(admission=limit)


async def test_over_rest(served: Any, overloaded: Runtime) -> None:
    async with served("product", "rest", SHELF, overloaded) as address, httpx.AsyncClient(base_url=address) as client:
        refused = await client.get("/v1/products/1", headers=OUTSIDE)
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "1"
        assert refused.json()["code"] == "UNAVAILABLE"
        for headers in ({}, OUTSIDE | {PRIORITY: UNDER_WAY}):
            assert (await client.get("/v1/products/1", headers=headers)).status_code == 200


async def test_over_grpc(served: Any, overloaded: Runtime) -> None:
    async with (
        served("product", "grpc", SHELF, overloaded) as address,
        grpc.aio.insecure_channel(address[7:]) as channel,
    ):
        get = product_pb2_grpc.ProductServiceStub(channel).GetProduct
        request = product_pb2.GetProductRequest(id=1)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await get(request, metadata=list(OUTSIDE.items()))
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
        details = dict(refused.value.trailing_metadata() or ())["grpc-status-details-bin"]
        retry = error_details_pb2.RetryInfo()
        assert any(one.Unpack(retry) for one in status_pb2.Status.FromString(details).details)
        assert retry.retry_delay.seconds == 1
        for headers in ({}, OUTSIDE | {PRIORITY: UNDER_WAY}):
            await get(request, metadata=list(headers.items()))


@pytest.mark.parametrize(("entrance", "is_refused"), [("thrift", False), ("thrift_entrance", True)])
async def test_over_thrift(entrance: str, is_refused: bool, overloaded: Runtime) -> None:
    config = ServiceConfig(component="product", **{f"listen_{entrance}": "127.0.0.1:0"})
    async with (
        servers(config, protocols(SHELF), overloaded) as addresses,
        connect({"product": f"thrift://{addresses[entrance]}"}, "test") as clients,
    ):
        if is_refused:
            with pytest.raises(Unavailable):
                await clients.product.get_product(1)
        else:
            assert await clients.product.get_product(1) == POT
