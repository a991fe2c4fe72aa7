"""Requests whose bodies never end, through the real Envoy and the real Kong: other clients are served as before."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection

from .conftest import request

UNFINISHED = 400
STREAMS = 100
PROBES = 50
JSON, RPC, USERS = "application/json", "application/grpc", "/shop.user.v1.UserService/"
QUERY = ("POST", "/graphql", JSON), b'{"query": "{ __typename }"}', "Query"
GET = ("GET", "/v1/users/1", JSON), b"", "UNAUTHENTICATED"
CONNECT = ("POST", f"{USERS}GetUser", JSON), b'{"id": 1}', "unauthenticated"
CALL = ("POST", f"{USERS}GetUser", RPC), b"\0\0\0\0\2\x08\1", "'grpc-status': '16'"
# Topology, path and media type of the bodies that never end, and a probe: a request, its body, and part of the answer
# that the component behind the edge gives.
TARGETS = [
    *((shop, "/graphql", JSON, QUERY) for shop in ("hybrid", "hybrid@kong")),
    *((shop, "/v1/sessions", JSON, GET) for shop in ("hybrid", "hybrid@kong", "rest", "rest@kong")),
    *((shop, f"{USERS}Login", RPC, CALL) for shop in ("hybrid-transcoded", "grpc@kong")),
    ("grpc-web", f"{USERS}Login", "application/grpc-web+proto", CALL),
    ("connect", f"{USERS}Login", "application/proto", CONNECT),
]


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
            reader, writer = await asyncio.open_connection("127.0.0.1", edge)
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


def over_http1(path: str, kind: str) -> tuple[int, bytes, bytes]:
    head = f"POST {path} HTTP/1.1\r\nhost: shop\r\ncontent-type: {kind}\r\ncontent-length: 5000\r\n\r\n{{"
    return UNFINISHED, head.encode(), b" "


def over_http2(path: str, kind: str) -> tuple[int, bytes, bytes]:
    link, streams = H2Connection(H2Configuration(header_encoding=None)), range(1, 2 * STREAMS, 2)
    link.initiate_connection()
    for stream in streams:
        link.send_headers(stream, request("POST", path, kind))
        link.send_data(stream, b" ")
    begin = link.data_to_send()
    for stream in streams:
        link.send_data(stream, b" ")
    return UNFINISHED // STREAMS, begin, link.data_to_send()


@pytest.mark.parametrize(("shop", "path", "kind", "probed"), TARGETS, indirect=["shop"], scope="session")
async def test_others_are_served(shop: Any, path: str, kind: str, probed: tuple[Any, bytes, str]) -> None:
    asked, body, expected = probed

    async def probe() -> None:
        answer = await shop.exchange(request(*asked), body)
        assert expected in f"{answer.headers} {answer.body!r}", answer

    await probe()
    for over in (over_http1, over_http2):
        async with unfinished(shop.port, *over(path, kind)):
            await asyncio.sleep(0.5)
            for _ in range(PROBES):
                began = time.perf_counter()
                await probe()
                assert time.perf_counter() - began < 2, over.__name__
                await asyncio.sleep(0.01)
