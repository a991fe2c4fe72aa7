"""The HTTP server of the gateways: serves, stops gracefully, and says clearly why it cannot start."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest

from shop.platform.errors import StartError
from shop.platform.http.server import http_server

pytestmark = pytest.mark.integration


async def slow_app(scope: Any, receive: Any, send: Any) -> None:
    """Answers after a moment; has no lifespan."""
    assert scope["type"] == "http", "no lifespan here"
    await asyncio.sleep(0.2)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"done"})


async def broken_app(scope: Any, receive: Any, send: Any) -> None:
    """Fails when it is started."""
    assert scope["type"] == "lifespan"
    await receive()
    await send({"type": "lifespan.startup.failed", "message": "no peers"})


async def get(address: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as client:
        for _ in range(100):
            try:
                return await client.get(f"http://{address}/", timeout=5)
            except httpx.ConnectError:
                await asyncio.sleep(0.02)
    raise AssertionError("the server does not answer")


async def test_request_under_way_is_answered_before_the_stop(free_address: str) -> None:
    async with http_server(slow_app, free_address) as address:
        assert (await get(address)).text == "done"
        last = asyncio.create_task(get(address))
        await asyncio.sleep(0.1)
    assert (await last).status_code == 200


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


async def test_nobody_is_waited_for_where_nobody_is_connected(free_address: str) -> None:
    async with asyncio.timeout(10), http_server(slow_app, free_address, drain_s=30) as address:
        assert (await get(address)).text == "done"


async def test_port_in_use_is_said_clearly(free_address: str) -> None:
    async with http_server(slow_app, free_address):
        with pytest.raises(StartError, match=f"cannot listen on {free_address}"):
            async with http_server(slow_app, free_address):
                pass


async def test_application_that_fails_to_start_is_said_clearly(free_address: str) -> None:
    with pytest.raises(StartError, match="failed to start"):
        async with asyncio.timeout(5), http_server(broken_app, free_address):
            pass
