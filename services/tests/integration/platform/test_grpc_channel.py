"""The options of channels and servers: gRPC knows each, and the two sides agree on how often an idle channel pings."""

from __future__ import annotations

import asyncio
import contextlib
import json
import struct
import time
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest
from grpc._cython import cygrpc
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    PingAckReceived,
    RequestReceived,
    ResponseReceived,
    TrailersReceived,
)

from shop.platform.grpc.client import _options
from shop.platform.grpc.server import OPTIONS, grpc_server, options

SERVICE = "shop.product.v1.ProductService"
PINGS = 6
HEALTH = "/grpc.health.v1.Health/Check"
AT_ONCE = 2_500
"""Calls at the same time; gRPC's default would refuse many of them."""
STREAMS = (1, 3, 5, 7)
"""Ids of the streams of four calls; gRPC accepts the first of them at once."""


@contextlib.asynccontextmanager
async def http2_connection(
    address: str,
) -> AsyncIterator[tuple[H2Connection, asyncio.StreamReader, asyncio.StreamWriter]]:
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    link = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
    link.initiate_connection()
    try:
        yield link, reader, writer
    finally:
        writer.close()


def _call(address: str, path: str) -> dict[str, str]:
    headers = {":method": "POST", ":scheme": "http", ":authority": address, ":path": path, "te": "trailers"}
    return headers | {"content-type": "application/grpc"}


def test_grpc_knows_every_option() -> None:
    # gRPC ignores an unknown option silently; its library contains the names of the known options as text.
    library = Path(cygrpc.__file__).read_bytes()
    unknown = [
        name
        for name, _ in (*options(1, compresses=True), *_options(SERVICE, ["GetProduct"]))
        if name.encode() not in library
    ]
    assert unknown == []


@pytest.mark.parametrize(
    ("address", "balanced", "checked"),
    [
        ("127.0.0.1:18020", False, False),
        ("127.0.0.1:18020,127.0.1.1:18020", True, True),
        # A name may have one address, or those of a cluster's pods, whose health the cluster checks.
        ("product:18020", True, False),
    ],
)
def test_calls_go_to_all_addresses_of_a_service(address: str, balanced: bool, checked: bool) -> None:
    config = json.loads(dict(_options(SERVICE, ["GetProduct"], address))["grpc.service_config"])
    assert ("loadBalancingConfig" in config, "healthCheckConfig" in config) == (balanced, checked)


def test_servers_allow_the_pings_that_channels_send() -> None:
    client, server = dict(_options(SERVICE, [])), dict(OPTIONS)
    assert client["grpc.keepalive_time_ms"] > server["grpc.http2.min_ping_interval_without_data_ms"]
    assert client["grpc.keepalive_permit_without_calls"] == server["grpc.keepalive_permit_without_calls"] == 1


@pytest.mark.parametrize(
    ("compresses", "accepted", "used"),
    [(True, "identity,gzip", "gzip"), (True, "identity", "identity"), (False, "identity,gzip", "identity")],
)
async def test_messages_are_compressed_for_clients_that_accept_it(compresses: bool, accepted: str, used: str) -> None:
    method = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
    message = ServerReflectionRequest(file_containing_symbol=SERVICE).SerializeToString()
    async with (
        grpc_server("127.0.0.1:0", {}, options(compresses=compresses)) as address,
        http2_connection(address) as (link, reader, writer),
    ):
        link.send_headers(1, {**_call(address, method), "grpc-accept-encoding": accepted}.items())
        link.send_data(1, struct.pack(">BI", 0, len(message)) + message, end_stream=True)
        writer.write(link.data_to_send())
        headers, body = {}, b""
        async with asyncio.timeout(5):
            while not body:
                for event in link.receive_data(await reader.read(65536)):
                    if isinstance(event, ResponseReceived):
                        headers = dict(event.headers)
                    elif isinstance(event, DataReceived):
                        body += event.data
                writer.write(link.data_to_send())
    assert headers.get("grpc-encoding", "identity") == used
    assert body[0] == (used == "gzip")


async def test_calls_wait_while_the_event_loop_is_busy() -> None:
    async with grpc_server("127.0.0.1:0", {}) as address, grpc.aio.insecure_channel(address) as channel:
        check = channel.unary_unary(HEALTH)
        await check(b"", timeout=5)
        calls = [check(b"", timeout=30) for _ in range(AT_ONCE)]
        await asyncio.sleep(0)
        time.sleep(1)  # noqa: ASYNC251 - gRPC's own threads receive all calls meanwhile
        codes = [await call.code() for call in calls]
    assert set(codes) == {grpc.StatusCode.OK}


async def test_a_call_whose_deadline_passes_while_it_waits_is_ended_by_grpc_itself() -> None:
    # Such calls leave no span. Hop budgets recognise them by this message.
    async with (
        grpc_server("127.0.0.1:0", {}) as address,
        http2_connection(address) as (link, reader, writer),
    ):
        for stream in STREAMS:
            link.send_headers(stream, {**_call(address, HEALTH), "grpc-timeout": "100m"}.items())
            link.send_data(stream, struct.pack(">BI", 0, 0), end_stream=True)
        writer.write(link.data_to_send())
        time.sleep(1)  # noqa: ASYNC251 - gRPC's own threads receive all calls meanwhile
        ends: dict[int, dict[str, str]] = {}
        async with asyncio.timeout(5):
            while len(ends) < len(STREAMS):
                for event in link.receive_data(await reader.read(65536)):
                    if isinstance(event, TrailersReceived | ResponseReceived) and "grpc-status" in dict(event.headers):
                        ends[event.stream_id] = dict(event.headers)
    assert ends[STREAMS[-1]]["grpc-status"] == "4"
    assert ends[STREAMS[-1]]["grpc-message"] == "Deadline Exceeded"


async def test_components_accept_no_compression() -> None:
    accepted: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        link.initiate_connection()
        while not accepted.done():
            writer.write(link.data_to_send())
            for event in link.receive_data(await reader.read(65536)):
                if isinstance(event, RequestReceived):
                    accepted.set_result(dict(event.headers)["grpc-accept-encoding"])
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=_options(SERVICE, [])) as channel:
        call = channel.unary_unary(f"/{SERVICE}/GetProduct")(b"", timeout=5)
        async with asyncio.timeout(5):
            assert await accepted == "identity"
        call.cancel()


async def test_idle_connection_that_pings_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    # Pings come ten times as fast as in production. From the third early ping on, a server closes the connection.
    allowed_ms = dict(_options(SERVICE, []))["grpc.keepalive_time_ms"] // 20
    scaled = [(name, allowed_ms if "ping_interval" in name else value) for name, value in OPTIONS]
    monkeypatch.setattr("shop.platform.grpc.server.OPTIONS", scaled)
    async with (
        grpc_server("127.0.0.1:0", {}) as address,
        http2_connection(address) as (link, reader, writer),
    ):
        answered, gone = 0, None
        for _ in range(PINGS):
            link.ping(b"idle.now")
            writer.write(link.data_to_send())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1.2 * allowed_ms / 1_000):
                    while gone is None:
                        data = await reader.read(65536)
                        events = link.receive_data(data) if data else [ConnectionTerminated()]
                        answered += sum(isinstance(event, PingAckReceived) for event in events)
                        gone = next((event for event in events if isinstance(event, ConnectionTerminated)), None)
                        writer.write(link.data_to_send())
    assert gone is None, gone
    assert answered == PINGS
