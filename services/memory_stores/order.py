"""Orders and sagas in memory, filled from their tables: they show what a call costs without its database.

There is only one process, so sagas need no leases: each has one driver at a time. The driver leaves to recovery what it
cannot finish. Sagas that were under way in the tables are left to recovery, too.
"""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence, Set
from datetime import UTC, datetime
from itertools import islice
from typing import TypeVar

from msgspec.structs import replace

from memory_stores.loading import in_memory
from shop.errors import no_such
from shop.fields import MAX_ID
from shop.order.checkout_states import UNCERTAIN, Checkout, Refusal, SagaState, Step
from shop.order.domain import Purchase
from shop.order.ports import Cancellation, OrderStores
from shop.order.postgres_orders import LINE_COLUMNS, orders_of
from shop.order.postgres_sagas import CHECKOUT_COLUMNS, cancellation_of, checkout_of
from shop.platform.database.pool import Connection
from shop.values.order import JoinedOrderLine, Order, OrderLine, OrderStatus

K = TypeVar("K", int, str)

_DRIVEN = (SagaState.RUNNING, SagaState.UNDOING)

# ruff: noqa: S608 - only lists of columns are put into the statements
ORDERS = f"""
    SELECT o.id, o.user_id, o.status, o.placed_at, o.total_minor, o.currency, {LINE_COLUMNS}
    FROM orders o JOIN order_line l ON l.order_id = o.id ORDER BY o.id, l.line_number"""
CHECKOUT_IDS = "SELECT id, checkout_id FROM orders"
CHECKOUTS = f"SELECT {CHECKOUT_COLUMNS} FROM checkout"
CANCELLATIONS = """
    SELECT c.order_id, o.checkout_id, c.epoch
    FROM cancellation c JOIN orders o ON o.id = c.order_id WHERE c.state = 'RUNNING'"""
GONE = "SELECT id FROM shop_shared.deleted_user"


class MemoryOrders:
    """The order store in one process.

    Args:
        orders: The orders with their buyers, including buyers whose accounts are gone.
        checkout_ids: Ids of the orders' stock reservations and payments, by order.
        gone: Users whose accounts are gone.
    """

    def __init__(
        self, orders: Iterable[Order] = (), checkout_ids: Iterable[tuple[int, str]] = (), gone: Set[int] = frozenset()
    ) -> None:
        self._orders = {order.id: order for order in orders}
        self._checkout_ids = dict(checkout_ids)
        self._gone = gone
        self._of_user: dict[int, list[int]] = {}
        for order_id in sorted(self._orders):
            self._of_user.setdefault(self._orders[order_id].user_id, []).append(order_id)
        lines = sorted((line.id, order.id, line) for order in self._orders.values() for line in order.lines)
        self._line_ids = [line_id for line_id, _, _ in lines]
        self._lines = [(order_id, line) for _, order_id, line in lines]
        self._last_id = max(self._orders, default=0)

    async def get(self, order_id: int) -> Order | None:
        order = self._orders.get(order_id)
        return None if order is None else self._hide_gone_user(order)

    async def get_many(self, order_ids: Sequence[int]) -> list[Order]:
        return [
            self._hide_gone_user(self._orders[order_id]) for order_id in sorted(order_ids) if order_id in self._orders
        ]

    async def of_user(self, user_id: int, *, before: int, limit: int) -> list[Order]:
        if self.is_gone(user_id):
            return []
        ids = self._of_user.get(user_id, [])
        end = bisect_left(ids, before or MAX_ID)
        return [self._orders[order_id] for order_id in reversed(ids[max(0, end - limit) : end])]

    async def move(self, order_id: int, *, current: OrderStatus, wanted: OrderStatus) -> Order | None:
        order = self._move(order_id, current, wanted)
        return None if order is None else self._hide_gone_user(order)

    async def lines(self, *, after: int, limit: int, chunk: int) -> AsyncGenerator[list[JoinedOrderLine]]:
        rows = self._join_lines(after, limit)
        while joined := list(islice(rows, chunk)):
            yield joined

    def is_gone(self, user_id: int) -> bool:
        """Returns whether a user's account is gone."""
        return user_id in self._gone

    def place(self, user_id: int, checkout_id: str, purchase: Purchase) -> Order:
        """Stores an order as PENDING."""
        self._last_id += 1
        first = self._line_ids[-1] + 1 if self._line_ids else 1
        lines = tuple(
            OrderLine(first + index, line.line_number, line.product_id, line.quantity, line.unit_price)
            for index, line in enumerate(purchase.lines)
        )
        placed_at = datetime.now(UTC).replace(microsecond=0)
        order = Order(self._last_id, user_id, OrderStatus.PENDING, placed_at, purchase.total, lines)
        self._orders[order.id] = order
        self._checkout_ids[order.id] = checkout_id
        self._of_user.setdefault(user_id, []).append(order.id)
        self._line_ids.extend(line.id for line in lines)
        self._lines.extend((order.id, line) for line in lines)
        return order

    def confirm(self, order_id: int) -> None:
        self._orders[order_id] = replace(self._orders[order_id], status=OrderStatus.CONFIRMED)

    def cancel(self, order_id: int) -> str | None:
        """Makes a CONFIRMED order CANCELLED; returns the id of its reservation and payment, else None."""
        if self._move(order_id, OrderStatus.CONFIRMED, OrderStatus.CANCELLED) is None:
            return None
        return self._checkout_ids[order_id]

    def _move(self, order_id: int, current: OrderStatus, wanted: OrderStatus) -> Order | None:
        order = self._orders.get(order_id)
        if order is None or order.status is not current:
            return None
        self._orders[order_id] = moved = replace(order, status=wanted)
        return moved

    def _hide_gone_user(self, order: Order) -> Order:
        """Returns an order as callers see it: it outlives its buyer's account, and then belongs to nobody."""
        return replace(order, user_id=0) if self.is_gone(order.user_id) else order

    def _join_lines(self, after: int, limit: int) -> Iterator[JoinedOrderLine]:
        start = bisect_right(self._line_ids, after)
        for order_id, line in islice(self._lines, start, start + limit):
            order = self._orders[order_id]
            yield JoinedOrderLine(
                line.id,
                order_id,
                order.user_id,
                order.status,
                order.placed_at,
                line.product_id,
                line.quantity,
                line.unit_price,
            )


class MemoryCheckouts:
    """The checkout store in one process."""

    def __init__(self, orders: MemoryOrders, checkouts: Iterable[Checkout] = ()) -> None:
        self._orders = orders
        self._checkouts: dict[str, Checkout] = {}
        self._ids: dict[tuple[int, str], str] = {}
        self._left: dict[str, float] = {}
        for checkout in checkouts:
            self._keep(checkout)
            if checkout.state in _DRIVEN:
                self._left[checkout.id] = 0.0

    async def claim(self, checkout: Checkout) -> Checkout:
        first_id = self._ids.get((checkout.user_id, checkout.idempotency_key))
        if first_id is None:
            return self._keep(checkout)
        first = self._checkouts[first_id]
        failed_for_now = first.refusal is not None and first.refusal.code in UNCERTAIN
        if first.state is SagaState.FAILED and failed_for_now and first.request_hash == checkout.request_hash:
            del self._checkouts[first_id]
            return self._keep(checkout)
        # The token of a deleted account can no longer read what the account bought.
        if self._orders.is_gone(checkout.user_id):
            raise no_such("user", checkout.user_id, "user_id")
        return first

    async def advance(self, checkout: Checkout, step: Step) -> Checkout:
        return self._keep(replace(checkout, step=step))

    async def place(self, checkout: Checkout, purchase: Purchase) -> Order:
        order = self._orders.place(checkout.user_id, checkout.id, purchase)
        self._keep(replace(checkout, step=Step.SETTLE, order_id=order.id))
        return order

    async def complete(self, checkout: Checkout) -> None:
        assert checkout.order_id is not None, "a checkout that settles has an order"
        self._orders.confirm(checkout.order_id)
        self._keep(replace(checkout, state=SagaState.COMPLETED))

    async def start_undo(self, checkout: Checkout, step: Step, refusal: Refusal) -> Checkout:
        return self._keep(replace(checkout, state=SagaState.UNDOING, step=step, refusal=refusal))

    async def fail(self, checkout: Checkout, refusal: Refusal) -> None:
        self._keep(replace(checkout, state=SagaState.FAILED, refusal=refusal))

    async def postpone(self, checkout: Checkout, seconds: float) -> None:
        self._left[checkout.id] = time.monotonic() + seconds

    async def take_stuck(self, limit: int) -> list[Checkout]:
        stuck = [self._checkouts[checkout_id] for checkout_id in _take_due(self._left, limit)]
        return [self._keep(replace(checkout, epoch=checkout.epoch + 1)) for checkout in stuck]

    def _keep(self, checkout: Checkout) -> Checkout:
        self._checkouts[checkout.id] = checkout
        self._ids[checkout.user_id, checkout.idempotency_key] = checkout.id
        return checkout


class MemoryCancellations:
    """The cancellation store in one process."""

    def __init__(self, orders: MemoryOrders, cancellations: Iterable[Cancellation] = ()) -> None:
        self._orders = orders
        self._running = {cancellation.order_id: cancellation for cancellation in cancellations}
        self._left = dict.fromkeys(self._running, 0.0)

    async def begin(self, order_id: int) -> Cancellation | None:
        checkout_id = self._orders.cancel(order_id)
        if checkout_id is None:
            return None
        return self._keep(Cancellation(order_id, checkout_id))

    async def find_running(self, order_id: int) -> Cancellation | None:
        return self._running.get(order_id)

    async def complete(self, cancellation: Cancellation) -> None:
        self._running.pop(cancellation.order_id, None)
        self._left.pop(cancellation.order_id, None)

    async def postpone(self, cancellation: Cancellation, seconds: float) -> None:
        if cancellation.order_id in self._running:  # otherwise, another caller has finished it
            self._left[cancellation.order_id] = time.monotonic() + seconds

    async def take_stuck(self, limit: int) -> list[Cancellation]:
        stuck = [self._running[order_id] for order_id in _take_due(self._left, limit)]
        return [self._keep(replace(cancellation, epoch=cancellation.epoch + 1)) for cancellation in stuck]

    def _keep(self, cancellation: Cancellation) -> Cancellation:
        self._running[cancellation.order_id] = cancellation
        return cancellation


async def load(connection: Connection) -> OrderStores:
    orders = MemoryOrders(
        orders_of(await connection.fetch(ORDERS)),
        [(row[0], str(row[1])) for row in await connection.fetch(CHECKOUT_IDS)],
        frozenset(row[0] for row in await connection.fetch(GONE)),
    )
    checkouts = map(checkout_of, await connection.fetch(CHECKOUTS))
    cancellations = map(cancellation_of, await connection.fetch(CANCELLATIONS))
    return OrderStores(orders, MemoryCheckouts(orders, checkouts), MemoryCancellations(orders, cancellations))


def _take_due(left: dict[K, float], limit: int) -> list[K]:
    """Removes and returns up to `limit` sagas whose time has come, from the times until which sagas are left."""
    now = time.monotonic()
    due = list(islice((saga for saga, until in left.items() if until <= now), limit))
    for saga in due:
        del left[saga]
    return due


open_store = in_memory(load)
