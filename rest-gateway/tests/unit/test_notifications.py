"""What customers are told of their orders, and those who wait for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from memory_shop import MemoryShop
from rest_gateway.app import build_app
from shop.platform.access import streams
from shop.platform.access.jwt import TokenVerifier
from shop.platform.access.rules import Authenticator
from shop.platform.access.streams import Streams
from shop.platform.http.server import http_server
from shop.values.order import OrderStatus

Headers = dict[str, str]
Tell = Callable[..., Any]
LIMIT_S = 10.0


@pytest.fixture
def tell(shop: MemoryShop) -> Tell:
    """Tells a customer of a change of an order."""
    return shop.notifications.tell


@pytest.fixture
def held() -> Streams:
    return Streams()


@pytest.fixture
async def served(shop: MemoryShop, public_pem: bytes, held: Streams) -> AsyncIterator[httpx.AsyncClient]:
    """A gateway behind a real server: the client of the other tests reads every answer to its end."""
    app: FastAPI = build_app(shop.clients, Authenticator(TokenVerifier(public_pem)), streams=held)
    async with http_server(app, "127.0.0.1:0") as address:
        async with httpx.AsyncClient(base_url=f"http://{address}", timeout=LIMIT_S) as client:
            yield client
        held.close()


@asynccontextmanager
async def stream(client: httpx.AsyncClient, path: str, headers: Headers) -> AsyncIterator[Callable[[], Any]]:
    """Opens a stream of events; gives what reads its next event, as a mapping of its fields."""
    async with client.stream("GET", path, headers=headers) as response:
        assert response.status_code == 200, await response.aread()
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert response.headers["cache-control"] == "no-store"
        lines = response.aiter_lines()

        async def event() -> dict[str, str]:
            fields = {}
            async for line in lines:
                if not line:
                    return fields
                name, _, value = line.partition(": ")
                fields[name] = value
            raise EOFError

        yield event


class TestEventsOfACustomer:
    async def test_come_as_they_happen(
        self, served: httpx.AsyncClient, tell: Tell, customer: Callable[[int], Headers]
    ) -> None:
        await tell()
        async with stream(served, "/v1/users/1/notifications/events", customer(1)) as event:
            assert await event() == {"": "open", "id": "1", "retry": "1000"}
            await tell(order=6, status=OrderStatus.SHIPPED)
            told = await event()
        assert (told["event"], told["id"]) == ("order", "2")
        assert json.loads(told["data"]) == {
            "position": 2,
            "order_id": 6,
            "status": "SHIPPED",
            "created_at": "2026-01-02T03:04:05.678900Z",
            "read": False,
            "traceparent": "",
        }

    async def test_go_on_behind_the_last_one(
        self, served: httpx.AsyncClient, tell: Tell, customer: Callable[[int], Headers]
    ) -> None:
        for _ in range(3):
            await tell()
        headers = {**customer(1), "last-event-id": "1"}
        async with stream(served, "/v1/users/1/notifications/events", headers) as event:
            assert [(await event())["id"] for _ in range(3)] == ["1", "2", "3"]

    async def test_of_one_order_alone(
        self, served: httpx.AsyncClient, tell: Tell, customer: Callable[[int], Headers]
    ) -> None:
        async with stream(served, "/v1/orders/6/events", customer(1)) as event:
            await event()
            await tell(order=1)
            await tell(order=6)
            assert (await event())["id"] == "2"

    async def test_end_with_the_process(
        self, served: httpx.AsyncClient, held: Streams, customer: Callable[[int], Headers]
    ) -> None:
        async with stream(served, "/v1/users/1/notifications/events", customer(1)) as event:
            await event()
            asyncio.get_running_loop().call_later(0.05, held.close)
            with pytest.raises(EOFError):
                await event()
        late = await served.get("/v1/users/1/notifications/events", headers=customer(1))
        assert (late.status_code, late.headers["retry-after"]) == (503, "1")

    async def test_are_opened_only_so_often(
        self, served: httpx.AsyncClient, customer: Callable[[int], Headers], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(streams, "MAX_PER_CUSTOMER", 1)
        for _ in range(streams.BURSTS):
            async with stream(served, "/v1/users/1/notifications/events", customer(1)) as event:
                await event()
        refused = await served.get("/v1/users/1/notifications/events", headers=customer(1))
        assert (refused.status_code, refused.json()["code"]) == (429, "TOO_MANY_REQUESTS")
        assert 1 <= int(refused.headers["retry-after"]) <= streams.REOPEN_S
        async with stream(served, "/v1/users/2/notifications/events", customer(2)) as event:
            await event()

    async def test_outlast_the_limit_of_requests(
        self, served: httpx.AsyncClient, tell: Tell, customer: Callable[[int], Headers]
    ) -> None:
        headers = {**customer(1), "x-envoy-expected-rq-timeout-ms": "200"}
        async with stream(served, "/v1/users/1/notifications/events", headers) as event:
            await event()
            await asyncio.sleep(0.4)
            await tell()
            assert (await event())["id"] == "1"


EVENTS = "/v1/users/1/notifications/events"


@pytest.mark.ours  # version 1 of the contract has no updates
@pytest.mark.parametrize(
    ("path", "user", "headers", "status", "code"),
    [
        pytest.param(EVENTS, 2, {}, 403, "PERMISSION_DENIED", id="another's"),
        pytest.param("/v1/orders/1/events", 2, {}, 404, "NOT_FOUND", id="another's order"),
        pytest.param("/v1/orders/9999/events", 1, {}, 404, "NOT_FOUND", id="no order"),
        pytest.param(EVENTS, 1, {"last-event-id": "7"}, 400, "INVALID_ARGUMENT", id="a position to come"),
        pytest.param(EVENTS, 1, {"last-event-id": "x"}, 400, "INVALID_ARGUMENT", id="no position"),
        pytest.param(EVENTS, 1, {"last-event-id": "9" * 19}, 400, "INVALID_ARGUMENT", id="too large a position"),
        pytest.param(EVENTS, None, {}, 401, "UNAUTHENTICATED", id="nobody"),
        pytest.param("/v1/users/1/notifications", 2, {}, 403, "PERMISSION_DENIED", id="another's list"),
    ],
)
async def test_a_stream_is_refused(
    api: httpx.AsyncClient,
    customer: Callable[[int], Headers],
    path: str,
    user: int | None,
    headers: Headers,
    status: int,
    code: str,
) -> None:
    refused = await api.get(path, headers={**({} if user is None else customer(user)), **headers})
    assert (refused.status_code, refused.json()["code"]) == (status, code)


async def test_a_position_that_is_not_kept(api: httpx.AsyncClient, tell: Tell, customer: Any) -> None:
    for _ in range(101):
        await tell()
    headers = {**customer(1), "last-event-id": "0"}
    gone = await api.get("/v1/users/1/notifications/events", headers=headers)
    assert (gone.status_code, gone.json()["code"]) == (410, "POSITION_GONE")
    assert "list the notifications" in gone.json()["detail"]


async def test_who_polls_asks_whether_there_is_news(api: httpx.AsyncClient, tell: Tell, customer: Any) -> None:
    path = "/v1/users/1/notifications"
    await tell()
    first = await api.get(path, headers=customer(1))
    assert [one["position"] for one in first.json()["notifications"]] == [1]
    assert first.headers["retry-after"] == "5"
    asked = {**customer(1), "if-none-match": first.headers["etag"]}
    assert (await api.get(path, headers=asked)).status_code == 304
    await tell()
    assert [one["position"] for one in (await api.get(path, headers=asked)).json()["notifications"]] == [2, 1]


async def test_what_is_read_is_marked(api: httpx.AsyncClient, tell: Tell, customer: Any) -> None:
    for _ in range(3):
        await tell()
    path = "/v1/users/1/notifications"
    marked = await api.post(f"{path}:markRead", headers=customer(1), json={"up_to_position": 2})
    assert marked.json() == {"unread": 1}
    assert [one["read"] for one in (await api.get(path, headers=customer(1))).json()["notifications"]] == [
        False,
        True,
        True,
    ]


async def test_there_are_none_where_customers_are_told_nothing(shop: MemoryShop, public_pem: bytes) -> None:
    app = build_app(shop.clients, Authenticator(TokenVerifier(public_pem)))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway") as api:
        assert (await api.get("/v1/users/1/notifications")).status_code == 404
