"""Updates where services speak REST to each other, and customers to the notification service itself."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from shop.platform.access.jwt import Principal, TokenSigner
from shop.values.order import OrderStatus

from .conftest import LIMIT_S, Shop


@pytest.fixture(scope="module")
def told_over() -> str:
    """Here it is REST."""
    return "http"


@pytest.fixture
async def client(shop: Shop) -> AsyncIterator[httpx.AsyncClient]:
    """A client by way of the edge."""
    async with httpx.AsyncClient(
        base_url=f"http://{shop.rest_address}", headers={"x-hopwise-edge": "1"}, timeout=LIMIT_S
    ) as made:
        yield made


def token(keys: Any, user: int, ttl_s: int = 3600) -> dict[str, str]:
    """The token of a customer."""
    return {"authorization": f"Bearer {TokenSigner(keys.private_pem).sign(Principal('customer', user), ttl_s)}"}


async def test_an_order_is_followed_over_server_sent_events(
    shop: Shop, client: httpx.AsyncClient, keys: Any, user: int
) -> None:
    path = f"/v1/users/{user}/notifications/events"
    async with client.stream("GET", path, headers=token(keys, user)) as response:
        lines = response.aiter_lines()
        assert [await anext(lines) for _ in range(4)] == [": open", "id: 0", "retry: 1000", ""]
        order = await shop.buy(user)
        await shop.clients.order.update_order_status(order.id, OrderStatus.SHIPPED)
        told: list[dict[str, Any]] = []
        async for line in lines:
            if line.startswith("data: "):
                told.append(json.loads(line.removeprefix("data: ")))
            if len(told) == 3:
                break
    assert [(one["position"], one["order_id"], one["status"]) for one in told] == [
        (1, order.id, "PENDING"),
        (2, order.id, "CONFIRMED"),
        (3, order.id, "SHIPPED"),
    ]
    listed = await client.get(f"/v1/users/{user}/notifications", headers=token(keys, user))
    assert listed.json()["notifications"] == told[::-1]


async def test_a_stream_ends_with_its_token(client: httpx.AsyncClient, keys: Any, user: int) -> None:
    path, headers = f"/v1/users/{user}/notifications/events", token(keys, user, ttl_s=2)
    async with client.stream("GET", path, headers=headers) as response:
        assert [line async for line in response.aiter_lines()] == [": open", "id: 0", "retry: 1000", ""]
    assert (await client.get(path, headers=headers)).status_code == 401


async def test_a_stream_ends_with_its_account(shop: Shop, client: httpx.AsyncClient, keys: Any, user: int) -> None:
    path, headers = f"/v1/users/{user}/notifications/events", token(keys, user)
    async with client.stream("GET", path, headers=headers) as response:
        lines = response.aiter_lines()
        assert await anext(lines) == ": open"
        await shop.clients.user.delete_user(user)
        assert [line async for line in lines] == ["id: 0", "retry: 1000", ""]
    assert (await client.get(path, headers=headers)).status_code == 404


async def test_customers_see_what_is_their_own(
    shop: Shop, client: httpx.AsyncClient, keys: Any, user: int, other: int
) -> None:
    order = await shop.buy(user)
    for path, status in (
        (f"/v1/users/{user}/notifications", 403),
        (f"/v1/users/{user}/notifications/events", 403),
        (f"/v1/orders/{order.id}/events", 404),
    ):
        assert (await client.get(path, headers=token(keys, other))).status_code == status


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({}, 403),
        ({"x-hopwise-edge": None}, 200),
        ({"x-hopwise-edge": None, "status": "FAILED"}, 400),
        ({"x-hopwise-edge": None, "happened_at": "yesterday"}, 400),
    ],
    ids=["from outside", "from inside", "no status", "no time"],
)
async def test_only_services_tell_what_happened(
    client: httpx.AsyncClient, user: int, changed: dict[str, str | None], status: int
) -> None:
    if "x-hopwise-edge" in changed:
        del client.headers["x-hopwise-edge"]
    event = {
        "id": user * 1_000_000,
        "order_id": 1,
        "user_id": user,
        "status": "PENDING",
        "happened_at": "2026-01-02T03:04:05.678900Z",
        "traceparent": "",
        **{name: value for name, value in changed.items() if not name.startswith("x-")},
    }
    assert (await client.post("/v1/order-events", json={"events": [event]})).status_code == status
