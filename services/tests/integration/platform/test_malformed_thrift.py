"""Malformed Thrift messages: real servers never answer them with INTERNAL, and serve other clients as before."""

from __future__ import annotations

import asyncio
import gc
import random
import socket
import struct
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from types import ModuleType
from typing import Any

import aiohttp
import pytest
import uvloop
from msgspec.structs import replace
from thrift.Thrift import TType

from fuzz.inputs import mutate
from memory_shop import Data, MemoryShop
from puppet import POT, Puppet, serving
from shop.clients.protocol_by_address import connect
from shop.contract.calls import PRODUCT, USER
from shop.errors import Internal, PermissionDenied
from shop.platform.access.rules import Authenticator
from shop.platform.config import split_address
from shop.platform.http.body import MAX_BYTES
from shop.platform.http.server import http_server
from shop.platform.incoming import Incoming
from shop.platform.thrift import server as thrift_server
from shop.platform.thrift.encoding import CALL, COMPACT, EXCEPTION, JSON, encode_message, open_message
from shop.platform.thrift.over_http import http_app, path_of
from shop.platform.thrift.processor import Processor
from shop.platform.thrift.server import framed_server
from shop.product.service import ProductService
from shop.stubs.thrift import ProductService as Stubs
from shop.stubs.thrift.ttypes import GetProductRequest, ListProductsRequest
from shop.values.product import Product, StockLine

FRAMES, BODIES = 2_000, 400
METHODS = sorted(name.removesuffix("_args") for name in vars(Stubs) if name.endswith("_args"))
LIMIT_S = 30.0

Send = Callable[[bytes], Awaitable[bytes | None]]
"""Sends a message on a separate connection; returns the answer, or None if there is none."""


@asynccontextmanager
async def framed() -> AsyncIterator[tuple[str, Send]]:
    async with framed_server("127.0.0.1:0", processor(), incoming()) as address:

        async def send(message: bytes, length: int | None = None) -> bytes | None:
            reader, writer = await asyncio.open_connection(*split_address(address))
            writer.write((len(message) if length is None else length).to_bytes(4) + message)
            if length is not None:
                writer.write_eof()
            try:
                return await reader.readexactly(int.from_bytes(await reader.readexactly(4)))
            except asyncio.IncompleteReadError:
                return None
            finally:
                writer.close()

        yield f"thrift://{address}", send


@asynccontextmanager
async def posted() -> AsyncIterator[tuple[str, Send]]:
    app = http_app("product", processor(), incoming())
    async with http_server(app, "127.0.0.1:0") as address, aiohttp.ClientSession() as session:

        async def send(message: bytes) -> bytes | None:
            async with session.post(f"http://{address}{path_of('product')}", data=message) as response:
                body = await response.read()
                assert response.status < 500, body
                return body if response.status == 200 else None

        yield f"thrift-json://{address}", send


def processor() -> Any:
    return Processor(PRODUCT, ProductService(MemoryShop(Data.demo()).products))


def incoming() -> Incoming:
    return Incoming(Authenticator(None, trusts_inside=True))


@pytest.mark.parametrize(
    ("serving", "encoding", "count"), [(framed, COMPACT, FRAMES), (posted, JSON, BODIES)], ids=["framed", "json"]
)
async def test_mutated_messages_harm_no_one_else(serving: Any, encoding: Any, count: int, log: Any) -> None:
    chance = random.Random(4711)
    messages = [call(encoding, Stubs, method) for method in METHODS]
    answered = 0
    async with (
        asyncio.timeout(LIMIT_S * 10),
        serving() as (address, send),
        connect({"product": address}, "test") as clients,
    ):
        for number in range(count):
            answer = await send(mutate(chance, messages))
            if answer is not None:
                answered += 1
                refuse_internal(encoding, answer)
            if number % 100 == 0:
                assert (await clients.product.list_products(page_size=1)).items
    assert count // 10 < answered < count, "some mutations still can be read, and some cannot"
    assert "unexpected error" not in log.getvalue()


async def test_frames_that_are_too_long_or_break_off_are_not_answered() -> None:
    async with framed() as (address, send), connect({"product": address}, "test") as clients:
        message = call(COMPACT, Stubs, "GetProduct")
        assert await send(message) is not None
        for length in (len(message) + 1, MAX_BYTES + 1, 2**32 - 1):
            assert await send(message, length) is None  # type: ignore[call-arg]
        assert await send(bytes([0x5C]) + bytes([0x1C]) * (MAX_BYTES - 1)) is None
        deep = message[:-1] + b"\x5c" + b"\x1c" * 1_000
        assert b"INVALID_ARGUMENT" in (await send(deep) or b"")
        assert (await clients.product.list_products(page_size=1)).items


async def test_a_further_connection_closes_the_one_that_is_idle_for_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thrift_server, "MAX_CONNECTIONS", 2)
    message = call(COMPACT, Stubs, "GetProduct")
    server = framed_server("127.0.0.1:0", processor(), incoming())
    async with asyncio.timeout(LIMIT_S), server as address, AsyncExitStack() as opened:

        async def exchange(reader: StreamReader, writer: StreamWriter) -> None:
            writer.write(len(message).to_bytes(4) + message)
            await reader.readexactly(int.from_bytes(await reader.readexactly(4)))

        async def connection() -> tuple[StreamReader, StreamWriter]:
            streams = await asyncio.open_connection(*split_address(address))
            opened.callback(streams[1].close)
            await exchange(*streams)
            return streams

        first, second = await connection(), await connection()
        await exchange(*first)
        third = await connection()
        assert await second[0].read() == b""
        for streams in (first, third):
            await exchange(*streams)


async def test_a_client_that_does_not_read_loses_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thrift_server, "MAX_S", 0.2)
    demo = Data.demo(products=1_000)
    # An answer of 16 MB, more than all buffers on its way hold.
    large = [replace(product, description="😀" * 4_000) for product in demo.products]
    service = Processor(PRODUCT, ProductService(MemoryShop(Data(large)).products))
    asked = Stubs.ListProducts_args({}, ListProductsRequest(1_000, "", ""))
    message = encode_message(COMPACT, "ListProducts", CALL, 1, asked)
    async with asyncio.timeout(LIMIT_S), framed_server("127.0.0.1:0", service, incoming()) as address:
        reader, writer = await asyncio.open_connection(*split_address(address))
        writer.write(len(message).to_bytes(4) + message)
        size = int.from_bytes(await reader.readexactly(4))
        await asyncio.sleep(1)
        assert len(await reader.read()) < size
        writer.close()


def test_a_client_that_leaves_during_its_call_is_no_error_of_the_server(log: Any) -> None:
    uvloop.run(leave_during_a_call())  # the loop of the shop's processes
    gc.collect()  # a failure that no task awaits is logged once it is collected
    assert "ERROR" not in log.getvalue()


async def leave_during_a_call() -> None:
    has_left = asyncio.Event()

    async def act() -> Product:
        await has_left.wait()
        return POT

    message = encode_message(COMPACT, "GetProduct", CALL, 1, Stubs.GetProduct_args({}, GetProductRequest(POT.id)))
    async with serving("thrift", Puppet(act)) as address:
        with socket.create_connection(split_address(address)) as client:
            client.sendall(len(message).to_bytes(4) + message)
            await asyncio.sleep(0.1)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # the close resets it
        await asyncio.sleep(0.1)
        has_left.set()
        await asyncio.sleep(0.1)


def test_a_connection_that_the_service_has_reset_is_not_used_again() -> None:
    uvloop.run(call_twice())


async def call_twice() -> None:
    async def answer_and_reset(reader: StreamReader, writer: StreamWriter) -> None:
        asked = processor().call(COMPACT, await reader.readexactly(int.from_bytes(await reader.readexactly(4))))
        answer = await asked.work(Authenticator(None, trusts_inside=True), None, None)
        writer.write(len(answer).to_bytes(4) + answer)
        await asyncio.sleep(0.1)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    async with await asyncio.start_server(answer_and_reset, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        async with connect({"product": f"thrift://127.0.0.1:{port}"}, "test") as clients:
            for _ in range(2):
                assert await clients.product.get_product(1)
                await asyncio.sleep(0.2)


async def test_a_body_that_breaks_off_is_no_error_of_the_server(log: Any) -> None:
    async with posted() as (address, _):
        reader, writer = await asyncio.open_connection(*split_address(address.removeprefix("thrift-json://")))
        writer.write(f"POST {path_of('product')} HTTP/1.1\r\nhost: shop\r\ncontent-length: 9\r\n\r\n[1,".encode())
        writer.write_eof()
        assert await reader.read() == b""
        writer.close()
    assert "ERROR" not in log.getvalue()


async def test_an_answer_to_an_unknown_method_is_no_success() -> None:
    users = Processor(USER, MemoryShop(Data.demo()).use_cases("user"))
    server = framed_server("127.0.0.1:0", users, incoming())
    async with server as address, connect({"product": f"thrift://{address}"}, "test") as clients:
        with pytest.raises(Internal):
            await clients.product.delete_product(1)


async def test_callers_at_the_entrance_are_outside() -> None:
    lines = [StockLine(1, 1)]
    for from_outside in (True, False):
        server = framed_server("127.0.0.1:0", processor(), incoming(), from_outside=from_outside)
        async with server as address, connect({"product": f"thrift://{address}"}, "test") as clients:
            if from_outside:
                with pytest.raises(PermissionDenied):
                    await clients.product.reserve_stock("01234567-89ab-cdef-0123-456789abcdef", lines)
            else:
                await clients.product.reserve_stock("01234567-89ab-cdef-0123-456789abcdef", lines)


def call(encoding: Any, stubs: ModuleType, method: str) -> bytes:
    arguments = fill(getattr(stubs, f"{method}_args"))
    arguments.headers = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    return encode_message(encoding, method, CALL, 1, arguments)


def fill(kind: Any) -> Any:
    samples = {TType.I32: 2, TType.I64: 3, TType.STRING: "c0001", TType.BOOL: True, TType.DOUBLE: 0.5, TType.MAP: {}}
    struct = kind()
    for spec in filter(None, kind.thrift_spec):
        _, of_field, name, inner, _ = spec
        if of_field == TType.LIST:
            value: Any = [fill(inner[1][0]) if inner[0] == TType.STRUCT else samples[inner[0]]]
        else:
            value = fill(inner[0]) if of_field == TType.STRUCT else samples[of_field]
        setattr(struct, name, value)
    return struct


def refuse_internal(encoding: Any, answer: bytes) -> None:
    name, kind, _, protocol = open_message(encoding, answer)
    if kind != EXCEPTION:
        result = getattr(Stubs, f"{name}_result")()
        result.read(protocol)
        assert result.error is None or result.error.code not in ("INTERNAL", "UNAVAILABLE"), result
