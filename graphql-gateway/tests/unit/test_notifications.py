"""Subscriptions: what the gateway sends for each event, and what an event may cost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from graphql_gateway.objects.global_id import global_id
from graphql_gateway.schema import build_schema
from graphql_gateways import Served, opening_message
from memory_shop import Data, MemoryShop
from shop.platform.graphql.schema import core_schema
from shop.values.order import MAX_LINES, CheckoutLine, OrderStatus

Tell = Callable[..., Any]


@pytest.fixture
def tell(shop: MemoryShop) -> Tell:
    """Notifies a customer of a change of an order."""
    return shop.notifications.tell


@pytest.fixture(params=["subscribed", "streamed"])
def follow(request: pytest.FixtureRequest, served: Served) -> Any:
    return lambda query: getattr(served, request.param)(query, served.authorization(1))


class TestASubscription:
    async def test_sends_updates_and_reads_orders_anew(self, follow: Any, shop: MemoryShop, tell: Tell) -> None:
        bought = await shop.clients.order.checkout(
            user_id=1, lines=[CheckoutLine(1, 1)], payment_token="tok_ok", idempotency_key="key"
        )
        order = global_id("Order", bought.id)
        asked = "position notification { position status createdAt read order { id status } }"
        await tell()
        async with follow(f"subscription {{ notifications {{ {asked} }} }}") as following:
            assert await following() == opening_message(1)
            for status in (OrderStatus.SHIPPED, OrderStatus.DELIVERED):
                await shop.clients.order.update_order_status(bought.id, status)
                await tell(order=bought.id, status=status)
                update = (await following())["payload"]["data"]["notifications"]
                position = update["position"]
                assert update["notification"] == {
                    "position": position,
                    "status": status.value,
                    "createdAt": "2026-01-02T03:04:05.678900Z",
                    "read": False,
                    "order": {"id": order, "status": status.value},
                }
            assert position == 3

    async def test_has_the_limits_of_a_request_for_each_event(self, follow: Any, shop: MemoryShop, tell: Tell) -> None:
        data = Data.largest(lines=2 * MAX_LINES)
        data.orders[0] = replace(data.orders[0], lines=data.orders[0].lines[:MAX_LINES])
        shop.fill(data)
        async with follow("subscription { notifications { notification { order { lines { id } } } } }") as following:
            assert (await following())["payload"]["data"]
            for _ in range(2):
                await shop.notifications.tell(order=1)
                update = (await following())["payload"]
                assert len(update["data"]["notifications"]["notification"]["order"]["lines"]) == MAX_LINES
            await shop.notifications.tell(order=2)
            update = (await following())["payload"]
            assert (update["data"], update["errors"][0]["extensions"]["code"]) == (None, "RESOURCE_EXHAUSTED")

    async def test_has_a_deadline_for_each_event(
        self, follow: Any, shop: MemoryShop, tell: Tell, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def be_slow(method: str) -> None:
            if method == "batch_get_orders":
                await asyncio.sleep(0.1)

        async with follow("subscription { notifications { notification { order { lines { id } } } } }") as following:
            assert (await following())["payload"]["data"]
            with monkeypatch.context() as patched:
                patched.setattr("graphql_gateway.context.DEFAULT_S", 0.05)
                patched.setattr(shop.record, "on_call", be_slow)
                await tell()
                update = (await following())["payload"]
                assert update["errors"][0]["extensions"]["code"] == "DEADLINE_EXCEEDED"
            await tell()
            assert (await following())["payload"]["data"]["notifications"]["notification"]["order"]["lines"]

    @pytest.mark.parametrize(
        ("field", "argument", "code"),
        [
            ("orderNotifications", 'orderId: "forged"', "INVALID_ARGUMENT"),
            ("notifications", f'userId: "{global_id("User", 2)}"', "PERMISSION_DENIED"),
        ],
        ids=["forged", "another's"],
    )
    async def test_names_the_id_that_it_refuses(self, follow: Any, field: str, argument: str, code: str) -> None:
        async with follow(f"subscription {{ {field}({argument}) {{ position }} }}") as following:
            (error,) = (await following())["payload"]["errors"]
        assert (error["extensions"]["code"], error["extensions"]["field"]) == (code, argument.partition(":")[0])


async def test_there_are_none_without_updates() -> None:
    told_nothing = core_schema(build_schema(updates=False))
    assert told_nothing.subscription_type is None
    assert "notifications" not in told_nothing.query_type.fields
