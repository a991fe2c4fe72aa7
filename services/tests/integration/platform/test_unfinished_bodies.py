"""Requests whose bodies never end, through the real Envoy and the real Kong: other clients are served as before."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from stand_ins import needs_kong

from graphql_gateway.app import build_app as graphql_gateway
from memory_shop import Data, MemoryShop
from mesh.description.ports import HOST, Ports
from mesh.description.topology import load_topology
from mesh.edge.component import ACCESS_LOG, edge_component
from mesh.edge.plan import edge_plan
from mesh.paths import RunFolder
from mesh.supervisor.processes import Supervisor
from mesh.supervisor.signals import Interrupts
from rest_gateway.app import build_app as rest_gateway
from shop.platform.access.jwt import TokenVerifier
from shop.platform.access.rules import Authenticator
from shop.platform.config import ServiceConfig
from shop.platform.http.server import http_server
from shop.platform.incoming import Incoming
from shop.platform.serve import servers
from shop.stubs import user_pb2, user_pb2_grpc
from shop.user import bootstrap as user_bootstrap

UNFINISHED = 400
STREAMS = 100
PROBES = 50
JSON = b"application/json"
LOGIN = b"/shop.user.v1.UserService/Login"
# Topology, component behind its edge, path, and media type of the bodies that never end.
ENDPOINTS = [
    ("hybrid", "graphql-gateway", b"/graphql", JSON),
    ("hybrid", "rest-gateway", b"/v1/sessions", JSON),
    ("rest", "user-rest", b"/v1/sessions", JSON),
    ("grpc", "user-grpc", LOGIN, b"application/grpc"),
    ("grpc-web", "user-grpc", LOGIN, b"application/grpc-web+proto"),
    ("connect", "user-connect", LOGIN, b"application/proto"),
]

TARGETS = [
    pytest.param(
        (topology, program), *target, marks=[needs_kong] if program == "kong" else [], id=f"{program}-{target[0]}"
    )
    for program in ("envoy", "kong")
    for topology, *target in ENDPOINTS
    if program == "envoy" or not load_topology(topology).needs_envoy
]
Probe = Callable[[], Awaitable[None]]


@pytest.fixture
def ports(free_ports: Callable[[], Ports]) -> Ports:
    return free_ports()


@pytest.fixture
def edge(request: pytest.FixtureRequest, ports: Ports, tmp_path: Path) -> Iterator[int]:
    """The edge of the topology and the program that the test names; yields its port."""
    topology, program = request.param
    folder = RunFolder.of(ports.base, root=tmp_path)
    folder.fresh_sockets()
    supervisor = Supervisor(folder, Interrupts())
    try:
        plan = edge_plan(load_topology(topology), ports, folder.logs / ACCESS_LOG)
        supervisor.start([edge_component(program, plan, folder, os.environ)])
        yield ports["edge"]
    finally:
        supervisor.stop()
        folder.remove_sockets()


@asynccontextmanager
async def behind(component: str, listen: str, user_url: str, keys: Any) -> AsyncIterator[None]:
    match component:
        case "graphql-gateway" | "rest-gateway":
            build_app = graphql_gateway if component == "graphql-gateway" else rest_gateway
            incoming = Incoming(Authenticator(TokenVerifier(keys.public_pem)))
            async with http_server(build_app(MemoryShop(Data.demo()).clients, incoming), listen):
                yield
        case _:
            config = ServiceConfig(
                component="user",
                **{f"listen_{component.removeprefix('user-')}": listen},
                database_url=user_url,
                database_pool=2,
                jwt_private_key_file=str(keys.private_file),
            )
            async with user_bootstrap.bootstrap(config) as service, servers(config, user_bootstrap.offer(service)):
                yield


@asynccontextmanager
async def probing(component: str, edge: int) -> AsyncIterator[Probe]:
    """Another client; its probe fails unless the component itself answers."""
    async with (
        httpx.AsyncClient(base_url=f"http://{HOST}:{edge}", trust_env=False, timeout=10) as http,
        grpc.aio.insecure_channel(f"{HOST}:{edge}", options=[("grpc.enable_http_proxy", 0)]) as channel,
    ):

        async def probe() -> None:
            match component:
                case "graphql-gateway":
                    answer = await http.post("/graphql", json={"query": "{ __typename }"})
                    assert answer.json() == {"data": {"__typename": "Query"}}
                case "rest-gateway":
                    assert (await http.get("/v1/products", params={"page_size": 1})).status_code == 200
                case "user-rest":
                    assert (await http.get("/v1/users/1")).json()["code"] == "UNAUTHENTICATED"
                case "user-connect":
                    answer = await http.post("/shop.user.v1.UserService/GetUser", json={"id": 1})
                    assert answer.json()["code"] == "unauthenticated"
                case _:
                    with pytest.raises(grpc.aio.AioRpcError) as refusal:
                        await user_pb2_grpc.UserServiceStub(channel).GetUser(user_pb2.GetUserRequest(id=1), timeout=10)
                    assert refusal.value.code() is grpc.StatusCode.UNAUTHENTICATED

        yield probe


@asynccontextmanager
async def unfinished(edge: int, connections: int, begin: bytes, more: bytes) -> AsyncIterator[None]:
    """Connections that send their beginning and then, now and then, a little more; a connection that ends is replaced.

    Args:
        edge: The edge's port.
        connections: Number of connections at a time.
        begin: Data that each connection sends first.
        more: Data that each connection then sends every half second.
    """

    async def one() -> None:
        while True:
            reader, writer = await asyncio.open_connection(HOST, edge)
            try:
                writer.write(begin)
                for _ in range(5):
                    await asyncio.sleep(0.5)
                    if reader.at_eof() or writer.is_closing():
                        break
                    writer.write(more)
            finally:
                writer.transport.abort()

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one()) for _ in range(connections)]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()


def over_http1(path: bytes, kind: bytes) -> tuple[int, bytes, bytes]:
    head = b"POST %s HTTP/1.1\r\nhost: shop\r\ncontent-type: %s\r\ncontent-length: 5000\r\n\r\n{" % (path, kind)
    return UNFINISHED, head, b" "


def over_http2(path: bytes, kind: bytes) -> tuple[int, bytes, bytes]:
    # HPACK with the static table: POST, http, and the names of the other headers.
    fields = b"\x83\x86" + b"".join(
        b"%b%c%b" % (name, len(value), value)
        for name, value in ((b"\x04", path), (b"\x01", b"shop"), (b"\x0f\x10", kind))
    )
    streams = range(1, 2 * STREAMS, 2)
    heads = b"".join(_frame(1, 4, stream, fields) for stream in streams)
    drops = b"".join(_frame(0, 0, stream, b" ") for stream in streams)
    return UNFINISHED // STREAMS, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(4, 0, 0, b"") + heads + drops, drops


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


async def latencies(probe: Probe) -> list[float]:
    """Returns the time that each probe took, in milliseconds, the shortest first."""
    times = []
    for _ in range(PROBES):
        began = time.perf_counter()
        await probe()
        times.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(0.01)
    return sorted(times)


@pytest.mark.parametrize(("edge", "component", "path", "kind"), TARGETS, indirect=["edge"])
async def test_others_are_served(
    edge: int, component: str, path: bytes, kind: bytes, ports: Ports, role_url: Callable[[str], str], keys: Any
) -> None:
    async with behind(component, ports.address(component), role_url("user"), keys), probing(component, edge) as probe:
        await probe()
        before = await latencies(probe)
        for over in (over_http1, over_http2):
            async with unfinished(edge, *over(path, kind)):
                await asyncio.sleep(0.5)
                beside = await latencies(probe)
            usual, p99, longest = before[-2], beside[-2], beside[-1]
            print(f"{component}, {over.__name__}: p99 {p99:.1f} ms, longest {longest:.1f} ms; usually {usual:.1f} ms")
            assert longest < 2000, over.__name__
