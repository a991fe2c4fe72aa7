"""Rules for calls between services that hold only over GraphQL: hashes, pages, bodies, traces."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import httpx
import pytest
from opentelemetry.trace import SpanKind

from puppet import POT, Puppet, connected, raising, serving
from served_shop import ANYWHERE
from shop.clients.protocol_by_address import connect
from shop.contract.calls import NOTIFICATION, PRODUCT
from shop.errors import DeadlineExceeded, InvalidArgument, NotFound, Unavailable
from shop.platform.access.rules import Authenticator
from shop.platform.graphql.service import graphql_app
from shop.platform.http.server import http_server
from shop.platform.incoming import Incoming
from shop.values.notification import Update
from shop.values.product import StockLine

INSIDE = Authenticator(None, trusts_inside=True)


async def test_a_document_travels_once_and_its_hash_afterwards() -> None:
    app, bodies = graphql_app(PRODUCT, Puppet(), Incoming(INSIDE)), list[dict[str, Any]]()

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        async def note() -> Any:
            message = await receive()
            if message["type"] == "http.request" and message["body"]:
                bodies.append(json.loads(message["body"]))
            return message

        await app(scope, note, send)

    async with http_server(noting, ANYWHERE) as at, connect({"product": f"graphql://{at}"}, "test") as clients:
        for _ in range(3):
            assert await clients.product.get_product(1) == POT
    assert ["query" in body for body in bodies] == [False, True, False, False]
    assert len({body["extensions"]["persistedQuery"]["sha256Hash"] for body in bodies}) == 1


async def test_reads_wait_for_a_service_that_is_briefly_away_and_changes_do_not(free_address: str) -> None:
    async with connect({"product": f"graphql://{free_address}"}, "test") as clients:
        with pytest.raises(Unavailable):
            await clients.product.delete_product(1)
        reading = asyncio.create_task(clients.product.get_product(1))
        await asyncio.sleep(0.02)
        async with serving("graphql", Puppet(), free_address):
            assert await reading == POT


async def test_values_that_do_not_fit_are_named() -> None:
    async with connected("graphql", Puppet()) as clients:
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
        async with connected("graphql", puppet) as clients:
            stream: Any = clients.product.stream_product_rows(limit=limit)
            async with aclosing(stream):
                assert [row.product_id async for row in stream] == list(range(1, rows + 1))
        assert puppet.calls == calls


async def test_calls_through_the_edge_are_refused() -> None:
    puppet = Puppet()
    async with serving("graphql", puppet) as address, httpx.AsyncClient() as http:
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
    async with connected("graphql", Puppet(raising(NotFound("there is none"))), traces.runtime) as clients:
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
    app = graphql_app(NOTIFICATION, Newsroom(), Incoming(INSIDE, traces.runtime))
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
    app = graphql_app(NOTIFICATION, Newsroom(), Incoming(INSIDE))
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
