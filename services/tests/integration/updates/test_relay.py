"""How events leave the outbox: none is lost, repeated or overtaken by a later event of its order.

    OUTBOX_EVENTS=30000 .venv/bin/pytest -q -s -n0 services/tests/integration/updates/test_relay.py -k backlog

prints how many events per second one relay delivers, with the notification service in the same process.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest

from shop.errors import Unavailable
from shop.notification.postgres import PostgresNotifications
from shop.order.postgres_outbox import PostgresOutbox
from shop.order.relay import Relay
from shop.platform.database.pool import connect_database
from shop.platform.process.lifecycle import in_background
from shop.values.notification import Event
from shop.values.order import OrderStatus

from .conftest import LIMIT_S, Shop, until

BACKLOG = int(os.environ.get("OUTBOX_EVENTS", "900"))
"""Number of events to deliver."""
FILL = """
    INSERT INTO shop_order.outbox (order_id, user_id, status)
    SELECT 1000000 + number, 2001 + number %% 1000, status
    FROM unnest(ARRAY['PENDING', 'CONFIRMED', 'SHIPPED']) WITH ORDINALITY AS statuses (status, turn),
        generate_series(1, %s) number
    ORDER BY turn, number
"""
"""Adds three events for each order; their customers buy nothing in other tests."""
FILL_MAILBOX = """
    INSERT INTO shop_order.outbox (order_id, user_id, status)
    SELECT 500000 + number, %s, status
    FROM generate_series(1, 60) number, unnest(ARRAY['PENDING', 'CONFIRMED']) WITH ORDINALITY AS statuses (status, turn)
    ORDER BY number, turn
"""
"""Adds 120 events of one customer, which are more than the notification service keeps."""
RELAYED = """
    SELECT order_id, array_agg(status ORDER BY position) FROM shop_notification.notification
    WHERE order_id > 1000000 GROUP BY order_id
"""
LEFT = "SELECT count(*) FROM shop_order.outbox"


@pytest.fixture(scope="module")
def relayed() -> bool:
    """False: each test here has separate relays."""
    return False


class Recorder:
    """A notification service that fails a number of times, and then only records events."""

    def __init__(self, failures: int = 0) -> None:
        self.events: list[Event] = []
        self.failures = failures

    async def notify(self, events: Sequence[Event]) -> None:
        await asyncio.sleep(0.001)
        if self.failures:
            self.failures -= 1
            raise Unavailable("the notification service does not answer; try again")
        self.events += events


@pytest.fixture
async def relay_to(shared_trial: Any) -> AsyncIterator[Callable[[Any], Any]]:
    """Makes a relay with a separate connection, like each process of the order service."""
    async with AsyncExitStack() as stack:

        async def make(notification: Any) -> Relay:
            database = await connect_database(shared_trial.role_url("order"), 1)
            stack.push_async_callback(database.close)
            return Relay(PostgresOutbox(database), notification, look_s=0.05)

        yield make


@pytest.fixture(autouse=True)
def nothing_left(shop: Shop) -> None:
    """Each test begins with an empty outbox."""
    shop.rows("DELETE FROM shop_order.outbox")


async def test_events_of_an_order_are_delivered_in_order(shop: Shop, relay_to: Any, user: int) -> None:
    order = await shop.buy(user)
    await shop.clients.order.update_order_status(order.id, OrderStatus.SHIPPED)
    recorder = Recorder()
    relay = await relay_to(recorder)
    assert [await relay.deliver() for _ in range(2)] == [3, 0]
    assert [event.status for event in recorder.events] == ["PENDING", "CONFIRMED", "SHIPPED"]
    assert {(event.order_id, event.user_id) for event in recorder.events} == {(order.id, user)}
    assert shop.rows(LEFT) == [(0,)]


async def test_undelivered_events_are_still_there(shop: Shop, relay_to: Any, user: int) -> None:
    await shop.buy(user)
    relay = await relay_to(Recorder(failures=1))
    with pytest.raises(Unavailable):
        await relay.deliver()
    assert shop.rows(LEFT) == [(2,)]
    assert await relay.deliver() == 2


async def test_a_failure_does_not_end_the_relay(shop: Shop, relay_to: Any, user: int) -> None:
    await shop.buy(user)
    recorder = Recorder(failures=3)
    relay = await relay_to(recorder)
    async with in_background(relay.run()):
        await until(shop.is_all_delivered)
    assert [event.status for event in recorder.events] == ["PENDING", "CONFIRMED"]


async def test_events_are_stored_once_although_an_answer_is_lost(
    shop: Shop, relay_to: Any, store: PostgresNotifications, user: int
) -> None:
    class Unheard:
        """Stores all events; the answer to the second call does not arrive."""

        calls = 0

        async def notify(self, events: Sequence[Event]) -> None:
            await store.add(events)
            self.calls += 1
            if self.calls == 2:
                raise Unavailable("the notification service does not answer; try again")

    shop.rows(FILL_MAILBOX, user)
    relay = await relay_to(Unheard())
    async with in_background(relay.run()):
        await until(shop.is_all_delivered)
    assert await store.last_position(user) == 120


async def test_relays_share_the_work(shop: Shop, relay_to: Any, user: int) -> None:
    """Three concurrent processes deliver each event once, and the events of each order in sequence."""
    orders = [await shop.buy(user, f"key-{number}") for number in range(12)]
    for order in orders:
        await shop.clients.order.update_order_status(order.id, OrderStatus.SHIPPED)
    recorder = Recorder()
    async with AsyncExitStack() as stack:
        for relay in [await relay_to(recorder) for _ in range(3)]:
            await stack.enter_async_context(in_background(relay.run()))
        await until(shop.is_all_delivered)
    for order in orders:
        statuses = [event.status for event in recorder.events if event.order_id == order.id]
        assert statuses == ["PENDING", "CONFIRMED", "SHIPPED"]
    assert len(recorder.events) == len({event.id for event in recorder.events}) == 36


async def test_events_of_a_dead_process_are_delivered_by_another(shop: Shop, relay_to: Any, user: int) -> None:
    """The database ends the connection, as if the process had been killed during a delivery."""
    order = await shop.buy(user)
    recorder, under_way = Recorder(), asyncio.Event()

    class Hanging:
        async def notify(self, events: Sequence[Event]) -> None:
            under_way.set()
            await asyncio.sleep(LIMIT_S)

    dying, alive = await relay_to(Hanging()), await relay_to(recorder)
    delivery = asyncio.create_task(dying.deliver())
    await under_way.wait()
    await shop.clients.order.update_order_status(order.id, OrderStatus.SHIPPED)
    assert await alive.deliver() == 0, "the other process is at it, and nothing of the order may overtake"
    shop.rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'")
    await until(alive.deliver)
    delivery.cancel()
    assert [event.status for event in recorder.events] == ["PENDING", "CONFIRMED", "SHIPPED"]


@pytest.mark.timeout(300)
async def test_a_backlog_is_delivered_completely_and_in_order(shop: Shop, relay_to: Any) -> None:
    relay = await relay_to(shop.clients.notification)
    shop.rows(FILL, BACKLOG // 3)
    began, delivered = time.monotonic(), 0
    while now := await relay.deliver():
        delivered += now
    print(f"{delivered / (time.monotonic() - began):,.0f} events/s")
    assert delivered == BACKLOG // 3 * 3
    assert shop.rows(LEFT) == [(0,)]
    assert {tuple(statuses) for _, statuses in shop.rows(RELAYED)} == {("PENDING", "CONFIRMED", "SHIPPED")}


async def test_the_news_of_a_placed_order_waits_for_no_confirmation_that_never_comes(shop: Shop) -> None:
    async with in_background(shop.relay.run()):
        await asyncio.sleep(0.1)
        for status in ("PENDING", "CONFIRMED"):
            shop.rows("INSERT INTO shop_order.outbox (order_id, user_id, status) VALUES (1, 2001, %s)", status)
            await until(shop.is_all_delivered)


@pytest.mark.parametrize("way", ["move", "cancel"])
async def test_a_change_that_does_not_happen_adds_no_event(shop: Shop, user: int, way: str) -> None:
    order = await shop.buy(user)
    await shop.clients.order.update_order_status(order.id, OrderStatus.SHIPPED)
    before = shop.rows(LEFT)
    with pytest.raises(Exception, match="SHIPPED"):
        await (
            shop.clients.order.cancel_order(order.id)
            if way == "cancel"
            else shop.clients.order.update_order_status(order.id, OrderStatus.SHIPPED)
        )
    assert shop.rows(LEFT) == before
