"""The pods of a service as its callers see them in a cluster: the changing addresses of one name."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator

import grpc.aio
from aiohttp import web

from shop.clients.http_channel import HttpChannel, HttpRequest
from shop.platform.grpc.client import grpc_channel
from shop.platform.grpc.server import GRACE_S, options

SERVICE = "shop.product.v1.ProductService"
A = 1
"""Type of a DNS record that holds an IPv4 address (RFC 1035)."""


class NameServer(asyncio.DatagramProtocol):
    """Answers each question for an IPv4 address with its current addresses, and any other question with an empty list.

    Args:
        addresses: The addresses.
    """

    def __init__(self, *addresses: str) -> None:
        self.addresses = list(addresses)
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        end = data.index(b"\0", 12) + 5
        (kind,) = struct.unpack("!H", data[end - 4 : end - 2])
        given = self.addresses if kind == A else []
        # The answer's name is the question's name, which begins at the twelfth byte.
        record = struct.pack("!HHHIH", 0xC00C, A, 1, 1, 4)
        answers = b"".join(record + socket.inet_aton(address) for address in given)
        header = data[:2] + struct.pack("!HHHHH", 0x8180, 1, len(given), 0, 0)
        self._transport.sendto(header + data[12:end] + answers, addr)


@contextlib.asynccontextmanager
async def name_server(*addresses: str) -> AsyncIterator[tuple[NameServer, str]]:
    transport, server = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: NameServer(*addresses), local_addr=("127.0.0.1", 0)
    )
    host, port = transport.get_extra_info("sockname")
    try:
        yield server, f"dns://{host}:{port}"
    finally:
        transport.close()


class Pod:
    """A server at a separate address, which counts its calls."""

    def __init__(self, host: str, connection_age_s: int = 0) -> None:
        self.host = host
        self.calls = 0
        self._server = grpc.aio.server(options=options(connection_age_s))
        handler = grpc.unary_unary_rpc_method_handler(self._count)
        self._server.add_registered_method_handlers(SERVICE, {"Count": handler})
        self._server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, {"Count": handler})])

    async def start(self, port: int = 0) -> int:
        """Listens at the given port, or at any free port, and returns the port."""
        port = self._server.add_insecure_port(f"{self.host}:{port}")
        await self._server.start()
        return port

    async def stop(self) -> None:
        await self._server.stop(GRACE_S)

    async def _count(self, request: bytes, context: object) -> bytes:
        self.calls += 1
        return b""


async def test_grpc_calls_go_in_turn_to_the_addresses_of_a_name_and_follow_them() -> None:
    first, second, third = Pod("127.0.0.1"), Pod("127.0.1.1"), Pod("127.0.2.1")
    port = await first.start()
    await second.start(port)
    async with name_server(first.host, second.host) as (names, authority):
        channel = grpc_channel(f"{authority}/product.shop:{port}", SERVICE, [])
        count = channel.unary_unary(f"/{SERVICE}/Count", request_serializer=bytes, response_deserializer=bytes)
        try:
            async with asyncio.timeout(30):
                while not (first.calls and second.calls):
                    await count(b"")
                before = first.calls, second.calls
                for _ in range(100):
                    await count(b"")
                assert (first.calls - before[0], second.calls - before[1]) == (50, 50)
                # As in a rolling update: another pod starts before the old one tells its clients to leave.
                await third.start(port)
                names.addresses = [second.host, third.host]
                await first.stop()
                while not third.calls:
                    await count(b"")
                before = second.calls, third.calls
                for _ in range(100):
                    await count(b"")
                assert (second.calls - before[0], third.calls - before[1]) == (50, 50)
        finally:
            await channel.close()
            for pod in (first, second, third):
                await pod.stop()


async def test_an_added_pod_gets_grpc_calls_though_none_leaves() -> None:
    first, second = Pod("127.0.0.1", connection_age_s=1), Pod("127.0.1.1")
    port = await first.start()
    async with name_server(first.host) as (names, authority):
        channel = grpc_channel(f"{authority}/product.shop:{port}", SERVICE, [])
        count = channel.unary_unary(f"/{SERVICE}/Count", request_serializer=bytes, response_deserializer=bytes)
        try:
            async with asyncio.timeout(30):
                await count(b"")
                await second.start(port)
                names.addresses.append(second.host)
                while not second.calls:
                    await count(b"")
                    await asyncio.sleep(0.001)
        finally:
            await channel.close()
            for pod in (first, second):
                await pod.stop()


async def test_http_requests_to_any_address_name_the_service() -> None:
    hosts: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        hosts.append(request.host)
        return web.Response()

    app = web.Application()
    app.router.add_get("/", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    _, port = runner.addresses[0][:2]
    channel = HttpChannel("product", [f"localhost:{port}"], lasts=False)
    try:
        for _ in range(3):
            await channel.send(HttpRequest("GET", "/", "GET"), lambda answer: answer)
            await asyncio.sleep(0.05)
    finally:
        await channel.close()
        await runner.cleanup()
    assert hosts == [f"localhost:{port}"] * 3
