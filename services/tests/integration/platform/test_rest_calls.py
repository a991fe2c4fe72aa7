"""Rules that hold only for REST calls: stale connections, and wrong answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from puppet import Puppet
from shop.clients.protocol_by_address import connect
from shop.contract.ports import Clients
from shop.errors import DeadlineExceeded, Internal, Unavailable
from shop.money import Money
from shop.platform.access.rules import Authenticator
from shop.platform.http.server import http_server
from shop.platform.incoming import Incoming
from shop.product.rest import build_app


@asynccontextmanager
async def calling(address: str) -> AsyncIterator[Clients]:
    async with connect({"product": f"http://{address}"}, "test") as clients:
        yield clients


@asynccontextmanager
async def answering(*answers: bytes) -> AsyncIterator[tuple[str, list[int]]]:
    """A server that sends these bytes, one answer per connection, the last one repeatedly, and then hangs up."""
    connections: list[int] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(1)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answers[min(len(connections), len(answers)) - 1])
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", connections


async def test_read_is_sent_again_when_the_connection_was_lost_and_a_change_is_not() -> None:
    body = (
        b'{"id":1,"title":"","description":"","category":"tea","price":{"amount_minor":1,"currency":"EUR"},"stock":1}'
    )
    good = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
    async with answering(b"", good) as (address, connections), calling(address) as clients:
        assert (await clients.product.get_product(1)).category == "tea"
        assert len(connections) == 2
    async with answering(b"", good) as (address, connections), calling(address) as clients:
        with pytest.raises(Unavailable):
            await clients.product.create_product(
                title="", description="", category="tea", price=Money(1, "EUR"), stock=1
            )
        assert len(connections) == 1


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", Internal),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nnonsense!", Internal),
        (b'HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n{"title":"\xff"}', Internal),
        (b'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"id":1', Unavailable),
        (b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 2\r\n\r\nno", Unavailable),
        (b"HTTP/1.1 504 Gateway Timeout\r\ncontent-length: 2\r\n\r\nno", DeadlineExceeded),
        (b"HTTP/1.1 500 Oh\r\ncontent-type: application/problem+json\r\ncontent-length: 2\r\n\r\n{}", Internal),
        (b"HTTP/1.1 418 Teapot\r\ncontent-length: 2\r\n\r\nno", Internal),
        (b"", Unavailable),
        (b"SMTP\r\n\r\n", Unavailable),
    ],
)
async def test_invalid_answer_is_an_error(answer: bytes, error: type[Exception]) -> None:
    async with answering(answer) as (address, _), calling(address) as clients:
        with pytest.raises(error):
            await clients.product.get_product(1)


async def test_one_connection_serves_calls_one_after_the_other() -> None:
    app = build_app(Puppet(), Incoming(Authenticator(None, trusts_inside=True)))
    ports: set[int] = set()

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            ports.add(scope["client"][1])
        await app(scope, receive, send)

    async with http_server(noting, "127.0.0.1:0") as address, calling(address) as clients:
        for _ in range(10):
            await clients.product.get_product(1)
    assert len(ports) == 1
