"""Rules for calls between services that hold only over GraphQL: hashes, invalid answers, pages, bodies, traces."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx
import pytest
from opentelemetry.trace import SpanKind

from puppet import POT, Puppet, raising
from served_shop import ANYWHERE
from shop.clients.protocol_by_address import connect
from shop.contract.calls import NOTIFICATION, PRODUCT
from shop.contract.ports import Clients
from shop.errors import DeadlineExceeded, Internal, InvalidArgument, NotFound, ShopError, Unavailable
from shop.platform.access.rules import Authenticator
from shop.platform.graphql.service import graphql_app
from shop.platform.http.server import http_server
from shop.platform.incoming import Incoming
from shop.platform.process.runtime import BARE, Runtime
from shop.values.notification import Update
from shop.values.product import StockLine


class Wire:
    """An application between client and service that records requests and answers, or answers itself."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.answer: tuple[int, bytes, int] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        message = await receive()
        self.bodies.append(json.loads(message["body"]))
        self.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
        if self.answer is not None:
            status, body, length = self.answer
            headers = [(b"content-type", b"application/json"), (b"content-length", str(length).encode())]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body, "more_body": length > len(body)})
            return

        async def again() -> Any:
            return message

        await self._app(scope, again, send)


@asynccontextmanager
async def serving(puppet: Puppet, listen: str = ANYWHERE, runtime: Runtime = BARE) -> AsyncIterator[tuple[Wire, str]]:
    incoming = Incoming(Authenticator(None, trusts_inside=True), runtime)
    wire = Wire(graphql_app(PRODUCT, puppet, incoming))
    async with http_server(wire, listen) as address:
        yield wire, address


@asynccontextmanager
async def connected(puppet: Puppet, runtime: Runtime = BARE) -> AsyncIterator[tuple[Wire, Clients]]:
    async with (
        serving(puppet, runtime=runtime) as (wire, address),
        connect({"product": f"graphql://{address}"}, "test") as clients,
    ):
        yield wire, clients


async def test_a_document_travels_once_and_its_hash_afterwards() -> None:
    async with connected(Puppet()) as (wire, clients):
        for _ in range(3):
            assert await clients.product.get_product(1) == POT
    assert ["query" in body for body in wire.bodies] == [False, True, False, False]
    assert len({body["extensions"]["persistedQuery"]["sha256Hash"] for body in wire.bodies}) == 1


async def test_reads_wait_for_a_service_that_is_briefly_away_and_changes_do_not(free_address: str) -> None:
    puppet = Puppet()
    async with connect({"product": f"graphql://{free_address}"}, "test") as clients:
        with pytest.raises(Unavailable):
            await clients.product.delete_product(1)
        reading = asyncio.create_task(clients.product.get_product(1))
        await asyncio.sleep(0.02)
        async with serving(puppet, free_address):
            assert await reading == POT


NO_ANSWERS = [
    (
        "an error with data",
        200,
        b'{"data": {"product": {"id": 1}}, "errors": [{"message": "no", "extensions": {"code": "NOT_FOUND"}}]}',
        0,
        NotFound,
    ),
    ("an error without a code", 200, b'{"errors": [{"message": "no"}]}', 0, Internal),
    ("a code of nobody", 200, b'{"errors": [{"message": "no", "extensions": {"code": "LOST"}}]}', 0, Internal),
    ("no data", 200, b'{"data": null}', 0, Internal),
    ("another answer", 200, b'{"data": {"product": {"id": "1"}}}', 0, Internal),
    ("not UTF-8", 200, b'{"data": {"product": {"title": "\xff"}}}', 0, Internal),
    ("not an object", 200, b"[]", 0, Internal),
    ("a page of a proxy", 503, b"<html>upstream connect error</html>", 0, Unavailable),
    ("a page of something else", 404, b"<html>not here</html>", 0, Internal),
    ("half an answer", 200, b'{"data": {"product": ', 0, Internal),
    ("an answer that breaks off", 200, b'{"data": {"product": ', 500, Unavailable),
]


@pytest.mark.parametrize(
    ("status", "body", "length", "error"), [case[1:] for case in NO_ANSWERS], ids=[case[0] for case in NO_ANSWERS]
)
async def test_an_invalid_answer_is_an_error(
    status: int, body: bytes, length: int, error: type[ShopError], caplog: pytest.LogCaptureFixture
) -> None:
    async with connected(Puppet()) as (wire, clients):
        wire.answer = (status, body, length or len(body))
        with pytest.raises(error):
            await clients.product.get_product(1)


async def test_values_that_do_not_fit_are_named() -> None:
    async with connected(Puppet()) as (_, clients):
        for field, call in (
            ("id", clients.product.get_product(2**63)),
            ("lines[1].product_id", clients.product.reserve_stock("x", [StockLine(1, 1), StockLine(2**70, 1)])),
            ("page_token", clients.product.list_products(page_token="\ud800")),
        ):
            with pytest.raises(InvalidArgument) as refusal:
                await call
            assert refusal.value.field == field


async def test_a_stream_is_read_until_an_empty_page(monkeypatch: pytest.MonkeyPatch) -> None:
    # The service's pages are smaller than the pages that the client requests.
    monkeypatch.setattr("shop.platform.graphql.service.ROWS_PER_PAGE", 10)
    for limit, rows, calls in ((20, 20, 2), (7, 7, 1), (100, 25, 4)):
        puppet = Puppet()
        async with connected(puppet) as (_, clients):
            stream: Any = clients.product.stream_product_rows(limit=limit)
            async with aclosing(stream):
                assert [row.product_id async for row in stream] == list(range(1, rows + 1))
        assert puppet.calls == calls


async def test_calls_through_the_edge_are_refused() -> None:
    puppet = Puppet()
    async with serving(puppet) as (_, address), httpx.AsyncClient() as http:
        for value in ("1", ""):
            response = await http.post(
                f"http://{address}/graphql",
                json={"query": "{ product(id: 1) { id } }"},
                headers={"x-hopwise-edge": value},
            )
            assert (response.status_code, response.headers["cache-control"]) == (403, "no-store")
            assert response.json()["errors"][0]["extensions"]["code"] == "PERMISSION_DENIED"
    assert puppet.calls == 0


async def test_an_error_shows_in_the_servers_span(traces: Any) -> None:
    async with connected(Puppet(raising(NotFound("there is none"))), traces.runtime) as (_, clients):
        with traces.journey() as root, pytest.raises(NotFound):
            await clients.product.get_product(1)
        await asyncio.sleep(0.05)
    servers = [span for span in traces.of(root) if span.kind is SpanKind.SERVER]
    assert [span.attributes["error.type"] for span in servers] == ["PERSISTED_QUERY_NOT_FOUND", "NOT_FOUND"]


class Newsroom:
    """A notification service whose stream reports that it is open, and lasts until it is closed."""

    async def watch_notifications(self, user_id: int, after: int | None) -> AsyncGenerator[Update]:
        assert (user_id, after) == (1, None)
        yield Update(None, 7)
        await asyncio.Event().wait()


async def test_a_stream_is_two_hops_as_any_call_is(traces: Any) -> None:
    app = graphql_app(NOTIFICATION, Newsroom(), Incoming(Authenticator(None, trusts_inside=True), traces.runtime))
    async with (
        http_server(app, ANYWHERE) as address,
        connect({"notification": f"graphql://{address}"}, "test") as clients,
    ):
        with traces.journey() as root:
            async with aclosing(clients.notification.watch_notifications(1)) as updates:
                assert (await anext(updates)).position == 7
                ended = {span.kind for span in traces.of(root)}
                assert not ended & {SpanKind.CLIENT, SpanKind.SERVER}, "they last as long as the stream"
        await asyncio.sleep(0.1)
    caller, callee = (span for span in traces.of(root) if span.kind is not SpanKind.INTERNAL)
    assert [(span.name, span.kind) for span in (caller, callee)] == [
        ("WatchNotifications", SpanKind.CLIENT),
        ("POST /graphql/stream", SpanKind.SERVER),
    ]
    assert callee.parent.span_id == caller.context.span_id
    assert callee.attributes["graphql.operation.name"] == caller.attributes["graphql.operation.name"]
    assert "error.type" not in {**caller.attributes, **callee.attributes}, "its reader has left, and nothing failed"


def address_of(server: asyncio.Server) -> str:
    host, port = server.sockets[0].getsockname()
    return f"{host}:{port}"


@pytest.mark.parametrize("begun", [b"", b"HTTP/1.1 503 Away\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\n"])
async def test_a_replica_that_begins_no_stream_in_time_is_left_out(begun: bytes, monkeypatch: Any) -> None:
    async def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(begun)
        await reader.read()  # until the caller leaves
        writer.close()

    monkeypatch.setattr("shop.clients.http_channel.DEFAULT_S", 0.2)
    app = graphql_app(NOTIFICATION, Newsroom(), Incoming(Authenticator(None, trusts_inside=True)))
    async with (
        await asyncio.start_server(begin, "127.0.0.1", 0) as server,
        http_server(app, ANYWHERE) as address,
        asyncio.timeout(5),
        connect({"notification": f"graphql://{address_of(server)},{address}"}, "test") as clients,
    ):
        with pytest.raises(DeadlineExceeded):
            await anext(clients.notification.watch_notifications(1))
        for _ in range(2):
            async with aclosing(clients.notification.watch_notifications(1)) as updates:
                assert (await anext(updates)).position == 7
