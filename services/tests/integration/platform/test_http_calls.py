"""Rules for calls over HTTP, in REST or GraphQL: stale connections, and wrong answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from puppet import Puppet
from shop.clients.protocol_by_address import connect
from shop.contract.ports import Clients
from shop.errors import DeadlineExceeded, Internal, NotFound, Unavailable
from shop.money import Money
from shop.platform.access.rules import Authenticator
from shop.platform.http.server import http_server
from shop.platform.incoming import Incoming
from shop.product.rest import build_app


def answer(body: bytes, status: str = "200 OK", length: int | None = None) -> bytes:
    """Makes an answer over HTTP; if it announces a greater length than its body's, it breaks off."""
    return f"HTTP/1.1 {status}\r\ncontent-length: {length or len(body)}\r\n\r\n".encode() + body


@asynccontextmanager
async def calling(address: str, scheme: str = "http") -> AsyncIterator[Clients]:
    async with connect({"product": f"{scheme}://{address}"}, "test") as clients:
        yield clients


@asynccontextmanager
async def answering(*answers: bytes) -> AsyncIterator[tuple[str, list[int]]]:
    """A server that sends these bytes, one answer per connection, the last one repeatedly, and then hangs up."""
    connections: list[int] = []

    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(1)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answers[min(len(connections), len(answers)) - 1])
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(send, "127.0.0.1", 0)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", connections


async def test_read_is_sent_again_when_the_connection_was_lost_and_a_change_is_not() -> None:
    body = (
        b'{"id":1,"title":"","description":"","category":"tea","price":{"amount_minor":1,"currency":"EUR"},"stock":1}'
    )
    good = answer(body)
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
    ("scheme", "sent", "error"),
    [
        ("http", answer(b"{}"), Internal),
        ("http", answer(b"nonsense!"), Internal),
        ("http", answer(b'{"title":"\xff"}'), Internal),
        ("http", answer(b'{"id":1', length=100), Unavailable),
        ("http", answer(b"no", "502 Bad Gateway"), Unavailable),
        ("http", answer(b"no", "504 Gateway Timeout"), DeadlineExceeded),
        ("http", answer(b"{}", "500 Oh\r\ncontent-type: application/problem+json"), Internal),
        ("http", answer(b"no", "418 Teapot"), Internal),
        ("http", b"", Unavailable),
        ("http", b"SMTP\r\n\r\n", Unavailable),
        # An error with data, without a code, and with a code that nobody knows.
        (
            "graphql",
            answer(b'{"data": {}, "errors": [{"message": "no", "extensions": {"code": "NOT_FOUND"}}]}'),
            NotFound,
        ),
        ("graphql", answer(b'{"errors": [{"message": "no"}]}'), Internal),
        ("graphql", answer(b'{"errors": [{"message": "no", "extensions": {"code": "LOST"}}]}'), Internal),
        ("graphql", answer(b'{"data": null}'), Internal),
        ("graphql", answer(b'{"data": {"product": {"id": "1"}}}'), Internal),
        ("graphql", answer(b'{"data": {"product": {"title": "\xff"}}}'), Internal),
        ("graphql", answer(b"[]"), Internal),
        ("graphql", answer(b"<html>upstream connect error</html>", "503 Away"), Unavailable),
        ("graphql", answer(b"<html>not here</html>", "404 Not Here"), Internal),
        ("graphql", answer(b'{"data": {"product": '), Internal),
        ("graphql", answer(b'{"data": {"product": ', length=500), Unavailable),
    ],
)
async def test_invalid_answer_is_an_error(scheme: str, sent: bytes, error: type[Exception]) -> None:
    async with answering(sent) as (address, _), calling(address, scheme) as clients:
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
