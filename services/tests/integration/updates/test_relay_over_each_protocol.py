"""The order service sends notifications of changed orders over each protocol; other tests use gRPC."""

from __future__ import annotations

import pytest

from shop.values.order import OrderStatus

from .conftest import Shop


@pytest.fixture(scope="module", params=["graphql", "rest"])
def relay_protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_updates_of_an_order_are_delivered(shop: Shop, user: int) -> None:
    order = await shop.buy(user)
    await shop.clients.order.update_order_status(order.id, OrderStatus.SHIPPED)
    delivered = [(one.position, one.order_id, one.status) for one in await shop.notifications(user, 3)]
    assert delivered == [(1, order.id, "PENDING"), (2, order.id, "CONFIRMED"), (3, order.id, "SHIPPED")]
