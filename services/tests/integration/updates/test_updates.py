"""What customers are told of their orders, from the change of an order to whoever waits for it."""

from __future__ import annotations

import asyncio
import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shop.errors import InvalidArgument, NotFound, PositionGone
from shop.notification.postgres import PostgresNotifications
from shop.notification.watching import AT_ONCE, Watchers
from shop.values.notification import KEPT, Event
from shop.values.order import OrderStatus

from .conftest import Shop, open_stream

PENDING, CONFIRMED, SHIPPED = OrderStatus.PENDING, OrderStatus.CONFIRMED, OrderStatus.SHIPPED
EVENT_IDS = itertools.count(1_000_000)


@pytest.fixture(scope="module", params=["grpc", "graphql"])
def told_over(request: pytest.FixtureRequest) -> str:
    """The protocols in which services follow notifications."""
    return str(request.param)


def event(user: int, status: OrderStatus = PENDING, order: int = 1) -> Event:
    """An event that no order has had."""
    return Event(next(EVENT_IDS), order, user, status, datetime.now(UTC))


class TestAnOrderIsFollowed:
    async def test_from_checkout_to_delivery(self, shop: Shop, user: int) -> None:
        async with open_stream(shop.clients.notification.watch_notifications(user)) as following:
            before = datetime.now(UTC)
            order = await shop.buy(user)
            await shop.clients.order.update_order_status(order.id, SHIPPED)
            await shop.clients.order.update_order_status(order.id, OrderStatus.DELIVERED)
            updates = [await following() for _ in range(4)]
        told = [update.notification for update in updates]
        assert [(one.position, one.order_id, one.status) for one in told] == [
            (position, order.id, status)
            for position, status in enumerate((PENDING, CONFIRMED, SHIPPED, OrderStatus.DELIVERED), start=1)
        ]
        assert [update.position for update in updates] == [1, 2, 3, 4]
        times = [one.created_at for one in told]
        assert times == sorted(times)
        assert before - timedelta(seconds=1) < times[0] < times[-1] < datetime.now(UTC) + timedelta(seconds=1)
        assert any(time.microsecond for time in times)

    async def test_to_its_cancellation(self, shop: Shop, user: int) -> None:
        order = await shop.buy(user)
        await shop.clients.order.cancel_order(order.id)
        told = await shop.told(user, 3)
        assert [one.status for one in told] == [PENDING, CONFIRMED, OrderStatus.CANCELLED]

    async def test_alone_where_only_one_is_asked_for(self, shop: Shop, user: int) -> None:
        watched = await shop.buy(user)
        await shop.told(user, 2)
        async with open_stream(shop.clients.notification.watch_order(watched.id)) as following:
            await shop.buy(user, "another")
            await shop.told(user, 4)
            await shop.clients.order.cancel_order(watched.id)
            update = await following()
        assert (update.notification.order_id, update.notification.status) == (watched.id, OrderStatus.CANCELLED)
        assert update.position == 5, "the other order's two are counted, and not told"

    async def test_not_where_nothing_was_bought(self, shop: Shop, user: int, other: int) -> None:
        """A checkout that is refused changes no order, so that nobody is told."""
        with pytest.raises(Exception, match="declined"):
            await shop.clients.order.checkout(
                user_id=user, lines=_lines(), payment_token="tok_declined", idempotency_key="key"
            )
        await shop.buy(other)
        await shop.told(other, 2)
        assert await shop.clients.notification.list_notifications(user) == []

    async def test_by_nobody_else(self, shop: Shop, user: int, other: int) -> None:
        async with open_stream(shop.clients.notification.watch_notifications(other)) as following:
            await shop.buy(user)
            await shop.told(user, 2)
            order = await shop.buy(other)
            assert (await following()).notification.order_id == order.id


class TestAStreamBreaksOff:
    async def test_and_goes_on_behind_the_last_position(self, shop: Shop, user: int) -> None:
        async with open_stream(shop.clients.notification.watch_notifications(user)) as following:
            await shop.buy(user)
            last = (await following()).position
        await shop.buy(user, "meanwhile")
        await shop.told(user, 4)
        async with open_stream(shop.clients.notification.watch_notifications(user, last)) as following:
            assert [(await following()).position for _ in range(3)] == [2, 3, 4]

    @pytest.mark.parametrize("has_news", [False, True])
    async def test_because_the_account_is_gone(self, shop: Shop, user: int, has_news: bool) -> None:
        if has_news:
            await shop.clients.notification.notify([event(user)])
        async with open_stream(shop.clients.notification.watch_notifications(user)) as following:
            await shop.clients.user.delete_user(user)
            with pytest.raises(NotFound, match=f"there is no user {user}"):
                await following()
        with pytest.raises(NotFound, match=f"there is no user {user}"):
            await anext(shop.clients.notification.watch_notifications(user))

    async def test_because_the_account_of_its_order_is_gone(self, shop: Shop, user: int) -> None:
        order = await shop.buy(user)
        async with open_stream(shop.clients.notification.watch_order(order.id)) as following:
            await shop.clients.user.delete_user(user)
            with pytest.raises(NotFound, match=f"there is no user {user}"):
                await _to_the_end(following)
        with pytest.raises(NotFound, match=f"the account that order {order.id} belonged to is gone"):
            await anext(shop.clients.notification.watch_order(order.id))

    async def test_while_nobody_hears_what_the_database_tells(self, shop: Shop, user: int) -> None:
        """The connection that hears is cut; what is told meanwhile is found once there is another."""
        async with open_stream(shop.clients.notification.watch_notifications(user)) as following:
            shop.rows(
                """SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN "shop_notification"'"""
            )
            await shop.clients.notification.notify([event(user)])
            assert (await following()).position == 1


class TestAPosition:
    async def test_is_too_old(self, shop: Shop, user: int) -> None:
        await shop.clients.notification.notify([event(user, order=number) for number in range(1, AT_ONCE + 1)])
        await shop.clients.notification.notify([event(user)])
        with pytest.raises(PositionGone, match=r"after_position is 0; only what comes behind 1 is kept: list"):
            await anext(shop.clients.notification.watch_notifications(user, 0))
        told = await shop.clients.notification.list_notifications(user)
        assert [one.position for one in told] == list(range(KEPT + 1, 1, -1))
        async with open_stream(shop.clients.notification.watch_notifications(user, 1)) as following:
            assert [(await following()).position for _ in range(KEPT)] == list(range(2, KEPT + 2))

    @pytest.mark.parametrize("position", [-1, 1, 2**63 - 1])
    async def test_is_none_that_was_told(self, shop: Shop, user: int, position: int) -> None:
        with pytest.raises(InvalidArgument, match=f"after_position is {position}") as refused:
            await anext(shop.clients.notification.watch_notifications(user, position))
        assert refused.value.field == "after_position"


class TestAnEvent:
    async def test_is_told_once_however_often_it_comes(self, shop: Shop, user: int, other: int) -> None:
        first, second, third = event(user), event(user, CONFIRMED), event(other)
        await shop.clients.notification.notify([first, third])
        await shop.clients.notification.notify([first, second])
        await asyncio.gather(*(shop.clients.notification.notify([second, third]) for _ in range(8)))
        assert [one.status for one in await shop.told(user, 2)] == [PENDING, CONFIRMED]
        assert len(await shop.told(other, 1)) == 1

    async def test_of_an_account_that_is_gone_is_dropped(self, shop: Shop, user: int) -> None:
        await shop.clients.notification.notify([event(user)])
        await shop.clients.user.delete_user(user)
        await shop.clients.notification.notify([event(user, CONFIRMED)])
        assert await shop.clients.notification.list_notifications(user) == []
        assert shop.rows("SELECT last_position FROM shop_notification.mailbox WHERE user_id = %s", user) == [(1,)]

    @pytest.mark.parametrize(
        ("wrong", "field"),
        [
            ([], "events"),
            ([event(0)], "events[0].user_id"),
            ([event(1, OrderStatus.FAILED)], "events[0].status"),
            ([event(1), event(1, order=0)], "events[1].order_id"),
            ([event(1)] * 2, "events[1].id"),
        ],
        ids=["none", "nobody's", "no status", "no order", "twice"],
    )
    async def test_is_refused(self, shop: Shop, wrong: list[Event], field: str) -> None:
        with pytest.raises(InvalidArgument) as refused:
            await shop.clients.notification.notify(wrong)
        assert refused.value.field == field


async def test_what_is_read_is_marked_up_to_a_position(shop: Shop, user: int) -> None:
    await shop.clients.notification.notify([event(user, order=number) for number in range(1, 6)])
    assert await shop.clients.notification.mark_read(user, 3) == 2
    assert await shop.clients.notification.mark_read(user, 2) == 2, "what is read stays so"
    assert [one.read for one in await shop.told(user, 5)] == [True, True, True, False, False]


async def test_a_stream_says_that_it_is_still_open(store: PostgresNotifications, user: int) -> None:
    watchers = Watchers(store, silence_s=0.01)
    waiting = watchers.watch(user, None)
    assert [(await anext(waiting)).notification for _ in range(4)] == [None] * 4
    await waiting.aclose()


async def test_what_is_not_there_is_not_followed(shop: Shop) -> None:
    with pytest.raises(NotFound, match="there is no order 987654321"):
        await anext(shop.clients.notification.watch_order(987_654_321))
    with pytest.raises(NotFound, match="there is no user 987654321"):
        await anext(shop.clients.notification.watch_notifications(987_654_321))


async def _to_the_end(following: Any) -> None:
    while True:
        await following()


def _lines() -> Any:
    from shop.values.order import CheckoutLine

    return (CheckoutLine(8_001, 1),)
