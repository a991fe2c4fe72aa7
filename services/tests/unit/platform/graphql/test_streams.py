"""Subscriptions over WebSockets and server-sent events: the protocols, and errors of clients."""

from __future__ import annotations

import asyncio
import io
import json
import socket
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing
from typing import Any

import pytest
from opentelemetry.trace import SpanKind
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from graphql_gateways import Served, opening_message
from memory_shop import MemoryShop
from recorded_spans import spans_of
from recording.injected_delay import ASKED_ATTRIBUTE, InjectedDelay
from recording.lean.recorder import Recorder
from shop.platform.access import streams as access_streams
from shop.platform.config import EDGE_MARK
from shop.platform.graphql import streams
from shop.platform.http import server, websockets
from shop.platform.http.body import MAX_BYTES
from shop.platform.process.runtime import Runtime
from shop.platform.telemetry.meters import Meters
from shop.platform.telemetry.trace_context import current_context
from shop.platform.telemetry.tracing import Spans
from update_doors import LIMIT_S, receive, send

NEWS = "subscription News { notifications { position } }"
POSITIONS = "subscription ($after: Int) { notifications(after: $after) { position notification { status } } }"


async def end_of(over: ClientConnection) -> int:
    """Reads to the end of a WebSocket; returns the code with which it was closed."""
    try:
        while True:
            await receive(over)
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd else 1006


class TestAWebSocket:
    @pytest.mark.parametrize(
        ("query", "message"),
        [
            ("{ products(first: 1) { pageInfo { hasNextPage } } }", "queries and mutations are not answered here"),
            ("subscription { nothing }", "Cannot query field 'nothing'"),
            ("subscription {", "Syntax Error"),
            (f"subscription {{ {'a ' * 2_000} }}", "tokens"),
        ],
        ids=["a query", "no field", "malformed", "too long"],
    )
    async def test_refuses_an_operation_at_once(self, served: Served, query: str, message: str) -> None:
        async with served.subscribed(query, served.authorization(1)) as following:
            refused = await following()
        assert (refused["type"], refused["id"]) == ("error", "1")
        assert message in refused["payload"][0]["message"]
        assert refused["payload"][0]["extensions"]["code"] in ("INVALID_ARGUMENT", "RESOURCE_EXHAUSTED")

    @pytest.mark.parametrize("payload", [None, {"authorization": "Bearer forged"}, {"authorization": 5}])
    async def test_needs_a_token(self, served: Served, payload: Any) -> None:
        async with served.socket() as over:
            await send(over, type="connection_init", **({} if payload is None else {"payload": payload}))
            assert await end_of(over) == 4401

    async def test_is_not_opened_with_a_token_that_is_not_valid(self, served: Served) -> None:
        with pytest.raises(InvalidStatus, match="HTTP 401"):
            async with served.socket(additional_headers={"authorization": "Bearer forged"}):
                pass

    async def test_is_closed_when_its_token_expires(self, served: Served) -> None:
        async with served.socket() as over:
            # Its life begins with the second in which it was signed; a busy machine may take 1 s to connect.
            await send(over, type="connection_init", payload=served.authorization(1, ttl_s=2))
            assert await receive(over) == {"type": "connection_ack"}
            assert await end_of(over) == 4401

    async def test_that_waits_for_its_token_may_be_closed_for_others(
        self, served: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(streams, "MAX_PENDING", 1)
        async with served.socket() as first, served.socket() as second:
            assert await end_of(first) == 1013
            await send(second, type="connection_init", payload=served.authorization(1))
            assert await receive(second) == {"type": "connection_ack"}
            async with served.socket():
                await send(second, type="ping")
                assert await receive(second) == {"type": "pong"}

    async def test_counts_for_its_customer(self, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(access_streams, "MAX_PER_CUSTOMER", 1)
        for _ in range(2):  # a closed socket does not count
            async with served.socket() as first, served.socket() as second, served.socket() as other:
                await send(first, type="connection_init", payload=served.authorization(1))
                await receive(first)
                await send(second, type="connection_init", payload=served.authorization(1))
                assert await end_of(second) == 1013
                await send(other, type="connection_init", payload=served.authorization(2))
                await receive(other)
                with pytest.raises(InvalidStatus, match="HTTP 429"):
                    async with served.socket(additional_headers=served.authorization(1)):
                        pass
        async with served.socket() as too_soon:
            await send(too_soon, type="connection_init", payload=served.authorization(1))
            assert await end_of(too_soon) == 1013

    async def test_counts_once_if_its_token_comes_twice(self, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(access_streams, "MAX_PER_CUSTOMER", 1)
        token = served.authorization(1)
        for _ in range(access_streams.BURSTS):
            async with served.socket(additional_headers=token) as over:
                await send(over, type="connection_init", payload=token)
                assert await receive(over) == {"type": "connection_ack"}

    async def test_takes_an_empty_operation_name_for_none(self, served: Served) -> None:
        async with served.socket() as over:
            await send(over, type="connection_init", payload=served.authorization(1))
            await receive(over)
            await send(over, id="1", type="subscribe", payload={"query": NEWS, "operationName": ""})
            assert (await receive(over))["type"] == "next"

    async def test_that_is_refused_or_closed_leaves_no_error_and_no_query_string_in_the_log(
        self, served: Served, log: io.StringIO
    ) -> None:
        where = f"ws://{served.address}/graphql/stream?mark=of-a-person"
        with pytest.raises(InvalidStatus, match="HTTP 401"):
            async with connect(where, additional_headers={"authorization": "Bearer forged"}):
                pass
        async with served.subscribed(NEWS, served.authorization(1)) as following:
            await following()  # from now on, the gateway knows the document and begins at once
        async with connect(where, subprotocols=["graphql-transport-ws"]) as over:
            await send(over, type="connection_init", payload=served.authorization(1))
            await send(over, id="1", type="subscribe", payload={"query": NEWS})
            await over.send("malformed")
            assert await end_of(over) == 4400
        assert "ERROR" not in log.getvalue()
        assert "of-a-person" not in log.getvalue()

    @pytest.mark.parametrize(
        "frame",
        [b"\x89\x80", b"\x8a\x80", b"\x01\x80", b'\x81\x8f{"type":"ping"}'],
        ids=["pings", "pongs", "fragments", "messages"],
    )
    async def test_is_closed_by_too_many_frames(self, served: Served, frame: bytes) -> None:
        head, body = frame[:2], frame[2:]
        count = websockets.BURST_BYTES // websockets.FRAME_BYTES
        rest = b"\x00\x80" if frame[0] == 0x01 else head
        flood = (head + bytes(4) + body) + (rest + bytes(4) + body) * count
        with await asyncio.to_thread(raw_socket, served) as raw:
            raw.sendall(flood)
            closed = await asyncio.to_thread(_read_to_end, raw)
        assert b"\x03\xf0too many frames" in closed

    async def test_stays_open_within_its_allowance(self, served: Served) -> None:
        """Frames that come in pieces are counted once."""
        count = websockets.BURST_BYTES // websockets.FRAME_BYTES
        init = json.dumps({"type": "connection_init", "payload": served.authorization(1)}).encode()
        sent = b"\x81\xfe" + len(init).to_bytes(2) + bytes(4) + init + (b"\x89\x81" + bytes(5)) * (count // 2)
        with await asyncio.to_thread(raw_socket, served) as raw:
            for at in range(0, len(sent), 3):
                raw.sendall(sent[at : at + 3])
                await asyncio.sleep(0)
            answer = b""
            while answer.count(b"\x8a\x01\x00") < count // 2 or b"connection_ack" not in answer:
                part = await asyncio.to_thread(raw.recv, 4096)
                assert part, answer
                answer += part

    async def test_takes_the_token_of_its_handshake_too(self, served: Served) -> None:
        async with served.socket(additional_headers=served.authorization(1)) as over:
            await send(over, type="connection_init")
            await receive(over)
            await send(over, id="1", type="subscribe", payload={"query": POSITIONS})
            assert await receive(over) == opening_message(0)

    @pytest.mark.parametrize(
        "message",
        [
            *("no JSON", "[" * 50_000, "[]", "5", "{}", '{"type": 5}', '{"type": "nonsense"}'),
            '{"type": "subscribe", "id": "1"}',
            '{"type": "subscribe", "id": 1, "payload": {"query": "x"}}',
            '{"type": "subscribe", "id": "1", "payload": 5}',
            '{"type": "subscribe", "id": "1", "payload": {"query": 5}}',
            '{"type": "subscribe", "id": "1", "payload": {"query": "x", "variables": []}}',
            '{"type": "connection_init", "payload": []}',
        ],
    )
    async def test_is_closed_by_invalid_messages(
        self, served: Served, caplog: pytest.LogCaptureFixture, message: str
    ) -> None:
        async with served.socket() as over:
            await over.send(message)
            assert await end_of(over) == 4400
        assert not [record for record in caplog.records if record.levelname == "ERROR"]

    async def test_is_closed_by_early_messages(self, served: Served) -> None:
        async with served.socket() as over:
            await send(over, id="1", type="subscribe", payload={"query": POSITIONS})
            assert await end_of(over) == 4401

    async def test_is_closed_by_a_second_beginning(self, served: Served) -> None:
        async with served.socket() as over:
            for _ in range(2):
                await send(over, type="connection_init", payload=served.authorization(1))
            assert await end_of(over) == 4429

    @pytest.mark.parametrize("protocol", ["graphql-ws", "mqtt"])
    async def test_is_closed_with_another_subprotocol(self, served: Served, protocol: str) -> None:
        async with served.socket(protocol) as over:
            assert await end_of(over) == 4406

    async def test_is_closed_by_a_message_that_is_too_large(self, served: Served) -> None:
        async with served.socket() as over:
            await over.send("x" * (MAX_BYTES + 1))
            assert await end_of(over) == 1009

    async def test_has_a_limit_of_subscriptions(self, served: Served) -> None:
        async with served.socket() as over:
            await send(over, type="connection_init", payload=served.authorization(1))
            await receive(over)
            for number in range(streams.MAX_AT_ONCE + 1):
                await send(over, id=str(number), type="subscribe", payload={"query": POSITIONS})
            answers = [await receive(over) for _ in range(streams.MAX_AT_ONCE + 1)]
        (refused,) = [answer for answer in answers if answer["type"] == "error"]
        assert refused["id"] == str(streams.MAX_AT_ONCE)

    async def test_is_not_opened_from_a_page_of_another_origin(self, served: Served) -> None:
        with pytest.raises(InvalidStatus, match="HTTP 403"):
            async with served.socket(origin="http://elsewhere.example"):
                pass

    async def test_is_not_opened_elsewhere(self, served: Served) -> None:
        with pytest.raises(InvalidStatus) as refused:
            async with connect(f"ws://{served.address}/graphql", subprotocols=["graphql-transport-ws"]):
                pass
        assert refused.value.response.status_code == 400
        assert b"subscriptions run at /graphql/stream" in refused.value.response.body


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that tests can wait for; set before the gateway is made."""
    monkeypatch.setattr(streams, "HANDSHAKE_S", 0.1)
    monkeypatch.setattr(server, "PING_S", 0.2)


class TestASilentClient:
    @pytest.mark.usefixtures("impatient")
    async def test_has_little_time_to_close(self, served: Served) -> None:
        async with served.socket() as over:
            assert await end_of(over) == 4408

    @pytest.mark.usefixtures("impatient")
    async def test_that_is_gone_is_found_out(self, served: Served) -> None:
        """The WebSocket is half open: it receives data, but answers no ping."""
        with await asyncio.to_thread(raw_socket, served, served.authorization(1)) as raw:
            init = json.dumps({"type": "connection_init"}).encode()
            raw.sendall(bytes([0x81, 0x80 | len(init), 0, 0, 0, 0]) + init)
            assert b"keepalive ping timeout" in await asyncio.to_thread(_read_to_end, raw)


def raw_socket(served: Served, token: dict[str, str] | None = None) -> socket.socket:
    """Opens a WebSocket whose frames the test writes itself."""
    host, _, port = served.address.partition(":")
    raw = socket.create_connection((host, int(port)), timeout=LIMIT_S)
    headers = "".join(f"{name}: {value}\r\n" for name, value in (token or {}).items())
    raw.sendall(
        b"GET /graphql/stream HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        b"sec-websocket-protocol: graphql-transport-ws\r\n" + headers.encode() + b"\r\n"
    )
    assert b" 101 " in raw.recv(4096)
    return raw


def _read_to_end(raw: socket.socket) -> bytes:
    read = b""
    while part := raw.recv(4096):
        read += part
    return read


class TestOverHTTP:
    @pytest.mark.parametrize(
        ("path", "accept", "body", "status", "message"),
        [
            ("/graphql/stream", "application/json", {"query": POSITIONS}, 406, "accept text/event-stream"),
            ("/graphql/stream", "text/event-stream", {"query": "{ me { id } }"}, 400, "use POST /graphql"),
            ("/graphql/stream", "text/event-stream", {"query": "subscription { x }"}, 400, "Cannot query field"),
            ("/graphql/stream", "text/event-stream", {"query": 5}, 400, "query must be a text"),
            ("/graphql", "application/graphql-response+json", {"query": POSITIONS}, 400, "use /graphql/stream"),
        ],
    )
    async def test_misplaced_arguments_are_refused(
        self, served: Served, path: str, accept: str, body: Any, status: int, message: str
    ) -> None:
        refused = await served.transport.post(path, json=body, headers={"accept": accept, **served.authorization(1)})
        assert refused.status_code == status
        assert message in refused.json()["errors"][0]["message"]


class TestASubscriptionIsARequest:
    @pytest.fixture
    def runtime(self, recorder: Recorder) -> Iterator[Runtime]:
        with closing(InjectedDelay(1_500)) as delay:
            yield Runtime(Spans(recorder), Meters(), before_work=(delay.pause,))

    @pytest.mark.parametrize("over", ["WebSocket", "events"])
    async def test_its_span_its_delay_and_its_time_end_with_it(
        self, served: Served, shop: MemoryShop, runtime: Runtime, recorder: Recorder, over: str
    ) -> None:
        trace, caller = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
        headers = {**served.authorization(1), "traceparent": f"00-{trace}-{caller}-01"}
        called_in = []

        async def look(_method: str) -> None:
            called_in.append(current_context())

        shop.record.on_call = look
        async with AsyncExitStack() as stack:
            if over == "WebSocket":
                opened = await stack.enter_async_context(served.socket(additional_headers=headers))
                await send(opened, type="connection_init")
                await receive(opened)
                await send(opened, id="1", type="subscribe", payload={"query": NEWS})
                await receive(opened)
            else:
                headers["accept"] = "text/event-stream"
                answer = served.transport.stream("POST", "/graphql/stream", json={"query": NEWS}, headers=headers)
                await anext((await stack.enter_async_context(answer)).aiter_lines())
            assert "SERVER" not in {span.kind.name for span in spans_of(recorder)}, "it lasts as long as the stream"
        async with asyncio.timeout(LIMIT_S):
            while not (left := [span for span in spans_of(recorder) if span.kind is SpanKind.SERVER]):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        (span,) = left
        assert span.name == ("SUBSCRIBE" if over == "WebSocket" else "POST") + " /graphql/stream"
        assert (f"{span.context.trace_id:032x}", f"{span.parent.span_id:016x}") == (trace, caller)
        assert (span.attributes["graphql.operation.name"], span.attributes[ASKED_ATTRIBUTE]) == ("News", 1.5)
        assert span.attributes["http.route"] == "/graphql/stream"
        assert {context.span_id for context in called_in} == {span.context.span_id}
        labels = {"http_route": "/graphql/stream", "shop_operation": "notifications"}
        (count,) = (
            one.value
            for family in runtime.meters.registry.collect()
            for one in family.samples
            if one.name == "http_server_request_duration_seconds_count" and labels.items() <= one.labels.items()
        )
        assert count == 1


async def test_an_overloaded_gateway_opens_none(served: Served, runtime: Runtime) -> None:
    outside = {**served.authorization(1), EDGE_MARK: "1"}
    async with served.socket(additional_headers=outside) as over:
        await send(over, type="connection_init")
        await receive(over)
        runtime.admission.new.value = 0.0
        headers = {**outside, "accept": "text/event-stream"}
        refused = await served.transport.post("/graphql/stream", json={"query": POSITIONS}, headers=headers)
        with pytest.raises(InvalidStatus) as denied:
            async with served.socket(additional_headers=outside):
                pass
        await send(over, id="1", type="subscribe", payload={"query": POSITIONS})
        (error,) = (await receive(over))["payload"]
    assert error["extensions"]["code"] == "UNAVAILABLE"
    for answer in (refused, denied.value.response):
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
