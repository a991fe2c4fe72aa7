"""Rules that hold only for gRPC calls: streams, invalid messages, the edge's limit, cancellation, reflection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import grpc
import httpx
import pytest
from grpc_reflection.v1alpha import reflection_pb2

from puppet import POT, Puppet, connected, raising, serving
from shop.errors import DeadlineExceeded, OutOfStock
from shop.platform.deadline import DEADLINE_HEADER, MAX_S, remaining, work_s
from shop.platform.error_codes import ERROR_TABLE
from shop.platform.grpc.server import VERSIONS
from shop.platform.grpc.status import restore
from shop.stubs import product_pb2 as pb
from shop.stubs import product_pb2_grpc
from shop.values.product import Product

SERVICE = "shop.product.v1.ProductService"


@pytest.mark.parametrize("code", sorted(ERROR_TABLE))
async def test_an_error_within_a_stream_arrives_as_it_was_raised(code: Any) -> None:
    row = ERROR_TABLE[code]
    async with connected("grpc", Puppet(raising(row.error("Say ünwhat ☕", field="lines[2].quantity")))) as clients:
        rows = clients.product.stream_product_rows()
        await anext(rows)
        with pytest.raises(row.error) as raised:
            await anext(rows)
    assert type(raised.value) is row.error
    assert (raised.value.message, raised.value.field) == ("Say ünwhat ☕", "lines[2].quantity")


@pytest.mark.parametrize("method", ["GetProduct", "StreamProductRows"])
@pytest.mark.parametrize("sent", [b"", b"\0\0", b"\0\0\0\0\x07half"])
async def test_a_call_without_a_whole_message_is_answered_at_once(method: str, sent: bytes) -> None:
    puppet = Puppet(raising(AssertionError("not reached")))
    headers = {"content-type": "application/grpc", "te": "trailers"}
    async with serving("grpc", puppet) as address, httpx.AsyncClient(http1=False, http2=True, timeout=5) as client:
        answer = await client.post(f"http://{address}/{SERVICE}/{method}", content=sent, headers=headers)
    # Without a message, the answer has only trailers, which are its headers, too.
    assert answer.headers["grpc-status"] == str(grpc.StatusCode.INVALID_ARGUMENT.value[0])
    assert puppet.calls == 0


async def test_unknown_method_is_unimplemented() -> None:
    puppet = Puppet(raising(AssertionError("not reached")))
    async with serving("grpc", puppet) as address, grpc.aio.insecure_channel(address) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await channel.unary_unary(f"/{SERVICE}/Nothing")(b"", timeout=5)
    assert raised.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_call_without_deadline_gets_the_servers() -> None:
    seen: list[float | None] = []

    async def act() -> Product:
        seen.append(remaining())
        return POT

    async with serving("grpc", Puppet(act)) as address, grpc.aio.insecure_channel(address) as channel:
        await product_pb2_grpc.ProductServiceStub(channel).GetProduct(pb.GetProductRequest(id=1))
    assert 28 < seen[0] <= work_s(MAX_S)


async def test_the_edge_s_limit_holds_for_calls_and_streams_without_a_shorter_one() -> None:
    class Slow(Puppet):
        async def stream_product_rows(self, **_: Any) -> AsyncIterator[Any]:  # type: ignore[override]
            while True:
                yield []
                await asyncio.sleep(0.01)

    async def act() -> Product:
        await asyncio.sleep(30)
        return POT

    edge = ((DEADLINE_HEADER, "300"),)
    seen = []

    async def read(stub: Any) -> None:
        async for message in stub.StreamProductRows(pb.StreamProductRowsRequest(), metadata=edge, timeout=20):
            seen.append(message)  # noqa: PERF401 - messages before the end count

    async with serving("grpc", Slow(act)) as address, grpc.aio.insecure_channel(address) as channel:
        stub = product_pb2_grpc.ProductServiceStub(channel)
        with pytest.raises(grpc.aio.AioRpcError) as late:
            await stub.GetProduct(pb.GetProductRequest(id=1), metadata=edge, timeout=20)
        with pytest.raises(grpc.aio.AioRpcError) as broken:
            await read(stub)
    assert len(seen) > 1
    for raised in (late, broken):
        error = restore(raised.value, "product")
        assert isinstance(error, DeadlineExceeded)
        assert error.message == "the deadline of the request has passed; allow it more time"


async def test_caller_that_goes_away_ends_the_work() -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def act() -> Product:
        began.set()
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()
        return POT

    puppet = Puppet(act)
    async with connected("grpc", puppet) as clients:
        call = asyncio.ensure_future(clients.product.get_product(1))
        await asyncio.wait_for(began.wait(), 2)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(ended.wait(), 2)
        # A stream that its reader abandons ends its work, too.
        began.clear()
        ended.clear()
        rows = clients.product.stream_product_rows()
        await anext(rows)
        await asyncio.wait_for(began.wait(), 2)
        await rows.aclose()  # type: ignore[attr-defined]
        await asyncio.wait_for(ended.wait(), 2)


async def test_reflection_describes_the_contract_and_lists_the_named_services() -> None:
    async with (
        serving("grpc", Puppet(), reflection=("order",)) as address,
        grpc.aio.insecure_channel(address) as channel,
    ):
        for version in VERSIONS:
            describe = channel.stream_stream(
                f"/{version}/ServerReflectionInfo",
                request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
                response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
            )
            asks = [reflection_pb2.ServerReflectionRequest(list_services="")]
            asks.append(reflection_pb2.ServerReflectionRequest(file_containing_symbol="shop.order.v1.OrderService"))
            listed, described = [answer async for answer in describe(iter(asks), timeout=5)]
            names = {service.name for service in listed.list_services_response.service}
            assert names == {SERVICE, "shop.order.v1.OrderService", *VERSIONS}
            assert described.file_descriptor_response.file_descriptor_proto


async def test_errors_of_a_fault_are_logged_and_those_of_a_caller_are_not(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="shop")
    async with connected("grpc", Puppet(raising(OutOfStock("none left")))) as clients:
        with pytest.raises(OutOfStock):
            await clients.product.delete_product(1)
    assert caplog.text == ""
