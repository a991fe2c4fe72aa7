"""What holds for every call between services, the same over every protocol: errors, deadlines, being away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from memory_stores.product import MemoryProductStore
from shop.clients.connect import connect
from shop.contract.calls import PRODUCT
from shop.contract.ports import Clients
from shop.errors import DeadlineExceeded, Internal, Unavailable
from shop.money import Money
from shop.platform.access.rules import Authenticator, NoVerifier
from shop.platform.deadline import deadline, remaining
from shop.platform.error_codes import ERROR_TABLE
from shop.platform.graphql.service import graphql_app
from shop.platform.grpc.handlers import handlers_of
from shop.platform.grpc.server import grpc_server
from shop.platform.http.server import http_server
from shop.platform.incoming import Incoming
from shop.platform.thrift.over_http import http_app
from shop.platform.thrift.processor import Processor
from shop.platform.thrift.server import framed_server
from shop.product import rest
from shop.product.service import ProductService
from shop.values.product import Product

pytestmark = [
    pytest.mark.integration,
    pytest.mark.parametrize("scheme", ["grpc", "http", "graphql", "thrift", "thrift-json"]),
]
TEA = Product(1, "Tea", "Green.", "tea", Money(300, "EUR"), 5)
Act = Callable[[], Awaitable[Product]]


class Puppet(ProductService):
    """A product service that does what a test tells it."""

    def __init__(self, act: Act) -> None:
        super().__init__(MemoryProductStore())
        self.act = act

    async def get_product(self, product_id: int) -> Product:
        return await self.act()

    async def delete_product(self, product_id: int, *, expected: object = None) -> None:
        await self.act()


@asynccontextmanager
async def serving(scheme: str, act: Act, listen: str = "127.0.0.1:0") -> AsyncIterator[str]:
    puppet = Puppet(act)
    incoming = Incoming(Authenticator(NoVerifier(), trusts_inside=True))
    if scheme == "grpc":
        server = grpc_server(listen, {PRODUCT.full_name: handlers_of(PRODUCT, puppet)}, incoming)
    elif scheme == "thrift":
        server = framed_server(listen, Processor(PRODUCT, puppet), incoming)
    elif scheme == "thrift-json":
        server = http_server(http_app("product", Processor(PRODUCT, puppet), incoming), listen)
    else:
        build_app = rest.build_app if scheme == "http" else partial(graphql_app, PRODUCT)
        server = http_server(build_app(puppet, incoming), listen)
    async with server as address:
        yield address


@asynccontextmanager
async def connected(scheme: str, act: Act) -> AsyncIterator[Clients]:
    async with serving(scheme, act) as address, connect({"product": f"{scheme}://{address}"}, "test") as clients:
        yield clients


def raising(error: BaseException) -> Act:
    async def act() -> Product:
        raise error

    return act


@pytest.mark.parametrize("code", sorted(ERROR_TABLE))
async def test_every_error_arrives_as_it_was_raised(scheme: str, code: Any) -> None:
    row = ERROR_TABLE[code]
    async with connected(scheme, raising(row.error("Say ünwhat ☕", field="lines[2].quantity"))) as clients:
        for call in (clients.product.delete_product(1), clients.product.get_product(1)):
            with pytest.raises(row.error) as raised:
                await call
            assert type(raised.value) is row.error
            assert (raised.value.message, raised.value.field) == ("Say ünwhat ☕", "lines[2].quantity")


async def test_unknown_cause_stays_in_the_log(scheme: str, caplog: pytest.LogCaptureFixture) -> None:
    async with connected(scheme, raising(RuntimeError("password=hunter2"))) as clients:
        with pytest.raises(Internal, match=r"^internal error$"):
            await clients.product.delete_product(1)
    assert "hunter2" in caplog.text


async def test_deadline_of_the_caller_reaches_the_callee(scheme: str) -> None:
    seen: list[float] = []

    async def act() -> Product:
        seen.append(remaining() or 0.0)
        return TEA

    async with connected(scheme, act) as clients:
        with deadline(2.0):
            assert await clients.product.get_product(1) == TEA
        await clients.product.get_product(1)
    # gRPC sends timeouts with few digits, rounded up.
    assert 1.0 < seen[0] <= 2.1
    # Without a deadline of the request, the client sets its own.
    assert 4.0 < seen[1] <= 5.1


async def test_passed_deadline_ends_the_call_and_the_work(scheme: str) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def act() -> Product:
        if not began.is_set():
            began.set()
            return TEA
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()
        return TEA

    async with connected(scheme, act) as clients:
        # What happens once only, such as the check of a document, must not take the time of the call that is late.
        await clients.product.get_product(1)
        with pytest.raises(DeadlineExceeded), deadline(0.5):
            await clients.product.get_product(1)
        await asyncio.wait_for(ended.wait(), 2)
        with pytest.raises(DeadlineExceeded), deadline(0.0):
            await clients.product.get_product(1)


async def test_service_that_is_away_is_unavailable_and_then_back(scheme: str, free_address: str) -> None:
    async def act() -> Product:
        return TEA

    async with connect({"product": f"{scheme}://{free_address}"}, "test") as clients:
        with pytest.raises(Unavailable, match="product service"), deadline(2):
            await clients.product.get_product(1)
        async with serving(scheme, act, free_address):
            for _ in range(40):
                try:
                    assert await clients.product.get_product(1) == TEA
                    break
                except Unavailable:
                    await asyncio.sleep(0.05)
            else:
                pytest.fail("the client did not find it again")
