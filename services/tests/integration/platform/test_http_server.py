"""The HTTP server of the gateways: what state a connection keeps, how long it lasts, and when it is closed."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from contextvars import ContextVar
from typing import Any

import httpx
import pytest

from shop.platform.http import server
from shop.platform.http.server import http_server


async def slow_app(scope: Any, receive: Any, send: Any) -> None:
    """Answers after a moment; does not support ASGI's lifespan protocol."""
    assert scope["type"] == "http", "no lifespan here"
    await asyncio.sleep(0.2)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"done"})


OF_REQUEST: ContextVar[str] = ContextVar("of_request", default="nothing")


async def noting_app(scope: Any, receive: Any, send: Any) -> None:
    """Records the method in its context before it reads the body; answers with what earlier requests recorded there."""
    assert scope["type"] == "http", "no lifespan here"
    noted = OF_REQUEST.get()
    OF_REQUEST.set(scope["method"])
    while (await receive())["more_body"]:
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(noted))]})
    await send({"type": "http.response.body", "body": noted.encode()})


class Telling:
    """Answers without end, and records when it can no longer do so."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] != "lifespan", "no lifespan here"
        try:
            async with asyncio.TaskGroup() as tasks:
                telling = tasks.create_task(self._tell(scope["type"], send))
                while (await receive())["type"] not in ("http.disconnect", "websocket.disconnect"):
                    pass
                telling.cancel()
        finally:
            self.ended.set()

    async def _tell(self, kind: str, send: Any) -> None:
        if kind == "websocket":
            await send({"type": "websocket.accept"})
        else:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            await asyncio.sleep(0)  # after a disconnect, send returns at once
            if kind == "websocket":
                await send({"type": "websocket.send", "bytes": bytes(64_000)})
            else:
                await send({"type": "http.response.body", "body": bytes(64_000), "more_body": True})


async def test_a_request_with_a_large_body_leaves_nothing_to_the_next_over_its_connection(free_address: str) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield bytes(70_000)

    one = httpx.Limits(max_connections=1)
    async with (
        http_server(noting_app, free_address) as address,
        httpx.AsyncClient(base_url=f"http://{address}", limits=one, trust_env=False) as client,
    ):
        assert (await client.post("/", content=body())).text == "nothing"
        assert (await client.get("/")).text == "nothing"


async def test_each_answer_is_the_last_over_its_connection_while_clients_leave(free_address: str) -> None:
    async with httpx.AsyncClient(trust_env=False) as client, AsyncExitStack() as stack:
        address = await stack.enter_async_context(http_server(slow_app, free_address, drain_s=30))
        kept = await client.get(f"http://{address}/")
        ending = asyncio.create_task(stack.aclose())
        await asyncio.sleep(0.1)
        assert not ending.done(), "a connection is open, over which a request may be on its way"
        last = await client.get(f"http://{address}/")
        await asyncio.wait_for(ending, 10)
    assert "connection" not in kept.headers
    assert (last.text, last.headers["connection"]) == ("done", "close")


async def test_the_server_ends_at_once_without_connections(free_address: str) -> None:
    async with (
        asyncio.timeout(10),
        http_server(slow_app, free_address, drain_s=30) as address,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        assert (await client.get(f"http://{address}/")).text == "done"


@pytest.mark.parametrize(
    "asks", ["", "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: bm90aGluZyBpcyByZWFkIQ==\r\n"]
)
async def test_a_client_that_reads_nothing_loses_the_connection(
    free_address: str, monkeypatch: pytest.MonkeyPatch, asks: str
) -> None:
    monkeypatch.setattr(server, "UNREAD_S", 1)
    app = Telling()
    async with asyncio.timeout(30), http_server(app, free_address, sockets=True) as address:
        host, port = address.rsplit(":", 1)
        with socket.create_connection((host, int(port))) as client:
            connection = "Upgrade" if asks else "keep-alive"
            client.sendall(f"GET / HTTP/1.1\r\nHost: shop\r\nConnection: {connection}\r\n{asks}\r\n".encode())
            await app.ended.wait()
