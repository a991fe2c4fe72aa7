"""The state of checkouts and cancellations in PostgreSQL.

A saga's row names the process that drives it and says how long that claim, the lease, lasts. A process has an
`instance`, its name or the address it listens on, and a `boot`, a random id that it draws at its start. A row is free
when its lease has ended, or when its instance has restarted with another boot. So a process that restarts under the
same name need not wait for its predecessor's lease to end. All other processes wait for that, including a process that
restarts under another name, as a pod does. Each takeover increments `epoch`, and a change with an older epoch finds no
row.
"""

# ruff: noqa: S608 - only constants are put into the statements

from __future__ import annotations

from typing import Any, NamedTuple

import asyncpg
from msgspec.structs import replace

from shop.errors import ErrorCode, no_such
from shop.order.checkout_states import UNCERTAIN, Checkout, Refusal, SagaState, Step
from shop.order.domain import Purchase
from shop.order.ports import Cancellation, TakenOver
from shop.order.postgres_outbox import Change
from shop.order.sagas.retries import LEASE_S
from shop.platform.database.pool import Database
from shop.platform.database.statements import Statement
from shop.values.order import Order, OrderLine, OrderStatus

CHECKOUT_COLUMNS = (
    "id, user_id, idempotency_key, request_hash, state, step, order_id, error_code, error_message, error_field, epoch"
)
LEASE = f"lease_until = now() + interval '{LEASE_S} s', updated_at = now()"
MINE = "id = $1 AND epoch = $2 AND state IN ('RUNNING', 'UNDOING')"
FREE = "(lease_until <= now() OR instance = $1 AND boot <> $2)"

CLAIM = Statement(
    "INSERT checkout",
    f"""
    INSERT INTO checkout (id, user_id, idempotency_key, request_hash, state, step, instance, boot, lease_until)
    VALUES ($1, $2, $3, $4, 'RUNNING', 'RESERVE', $5, $6, now() + interval '{LEASE_S} s')
    ON CONFLICT (user_id, idempotency_key) DO UPDATE
    SET id = EXCLUDED.id, state = 'RUNNING', step = 'RESERVE', instance = EXCLUDED.instance, boot = EXCLUDED.boot,
        epoch = checkout.epoch + 1, lease_until = EXCLUDED.lease_until, updated_at = now(),
        error_code = NULL, error_message = NULL, error_field = NULL
    WHERE checkout.state = 'FAILED' AND checkout.error_code = ANY($7) AND checkout.request_hash = EXCLUDED.request_hash
    RETURNING epoch
""",
)
# The token of a deleted account can no longer read what the account bought.
FIRST = Statement(
    "SELECT checkout",
    f"""
    SELECT {CHECKOUT_COLUMNS} FROM checkout
    WHERE user_id = $1 AND idempotency_key = $2 AND NOT EXISTS (SELECT FROM shop_shared.deleted_user WHERE id = $1)
""",
)
ADVANCE = Statement(
    "UPDATE checkout", f"UPDATE checkout SET step = $3, {LEASE} WHERE {MINE} AND state = 'RUNNING' RETURNING id"
)
PLACE = Change.of(
    "UPDATE checkout",
    f"""
    WITH moved AS (
        UPDATE checkout SET step = 'SETTLE', order_id = nextval('orders_id_seq'), {LEASE}
        WHERE {MINE} AND state = 'RUNNING' AND step = 'AUTHORIZE'
        RETURNING id, user_id, order_id
    ), placed AS (
        INSERT INTO orders (id, user_id, status, placed_at, total_minor, currency, checkout_id)
        SELECT order_id, user_id, 'PENDING', date_trunc('second', now()), $3, $4, id FROM moved
        RETURNING id, user_id, status, placed_at
    ), lines AS (
        INSERT INTO order_line (order_id, line_number, product_id, quantity, unit_price_minor)
        SELECT placed.id, l.* FROM placed, unnest($5::int[], $6::bigint[], $7::int[], $8::bigint[]) AS l
        RETURNING id, line_number
    )
""",
    "SELECT placed.*, lines.id AS line_id FROM placed, lines ORDER BY lines.line_number",
    rows="placed",
    context="$9",
)
COMPLETE = Change.of(
    "UPDATE checkout",
    f"""
    WITH ended AS (
        UPDATE checkout SET state = 'COMPLETED', updated_at = now()
        WHERE {MINE} AND step = 'SETTLE' RETURNING order_id
    ), moved AS (
        UPDATE orders SET status = 'CONFIRMED' FROM ended WHERE id = ended.order_id RETURNING id, user_id, status
    )
""",
    "SELECT id FROM moved",
    rows="moved",
    context="$3",
)
START_UNDO = Statement(
    "UPDATE checkout",
    f"""
    UPDATE checkout SET state = 'UNDOING', step = $3, error_code = $4, error_message = $5, error_field = $6, {LEASE}
    WHERE {MINE} AND step <> 'SETTLE' RETURNING id
""",
)
FAIL = Statement(
    "UPDATE checkout",
    f"""
    UPDATE checkout SET state = 'FAILED', error_code = $3, error_message = $4, error_field = $5, updated_at = now()
    WHERE {MINE} AND step <> 'SETTLE' RETURNING id
""",
)
POSTPONE = Statement(
    "UPDATE checkout", f"UPDATE checkout SET lease_until = now() + make_interval(secs => $3) WHERE {MINE} RETURNING id"
)
"""Does not change updated_at, so that the audit sees how long the saga has not moved."""
TAKE_STUCK = Statement(
    "UPDATE checkout",
    f"""
    UPDATE checkout SET instance = $1, boot = $2, epoch = epoch + 1, lease_until = now() + interval '{LEASE_S} s'
    WHERE id IN (
        SELECT id FROM checkout WHERE state IN ('RUNNING', 'UNDOING') AND {FREE}
        ORDER BY lease_until LIMIT $3 FOR UPDATE SKIP LOCKED
    )
    RETURNING {CHECKOUT_COLUMNS}
""",
)
BEGIN_CANCELLATION = Change.of(
    "UPDATE orders",
    f"""
    WITH moved AS (
        UPDATE orders SET status = 'CANCELLED' WHERE id = $1 AND status = 'CONFIRMED'
        RETURNING id, user_id, status, checkout_id
    ), begun AS (
        INSERT INTO cancellation (order_id, state, instance, boot, lease_until)
        SELECT id, 'RUNNING', $2, $3, now() + interval '{LEASE_S} s' FROM moved
    )
""",
    "SELECT id AS order_id, checkout_id, 1 AS epoch FROM moved",
    rows="moved",
    context="$4",
)
UNFINISHED_CANCELLATION = Statement(
    "SELECT cancellation",
    """
    SELECT c.order_id, o.checkout_id, c.epoch FROM cancellation c JOIN orders o ON o.id = c.order_id
    WHERE c.order_id = $1 AND c.state = 'RUNNING'
""",
)
COMPLETE_CANCELLATION = Statement(
    "UPDATE cancellation", "UPDATE cancellation SET state = 'COMPLETED', updated_at = now() WHERE order_id = $1"
)
POSTPONE_CANCELLATION = Statement(
    "UPDATE cancellation",
    """
    UPDATE cancellation SET lease_until = now() + make_interval(secs => $2) WHERE order_id = $1 AND state = 'RUNNING'
""",
)
TAKE_STUCK_CANCELLATIONS = Statement(
    "UPDATE cancellation",
    f"""
    WITH taken AS (
        UPDATE cancellation SET instance = $1, boot = $2, epoch = epoch + 1,
            lease_until = now() + interval '{LEASE_S} s'
        WHERE order_id IN (
            SELECT order_id FROM cancellation WHERE state = 'RUNNING' AND {FREE}
            ORDER BY lease_until LIMIT $3 FOR UPDATE SKIP LOCKED
        )
        RETURNING order_id, epoch
    )
    SELECT taken.order_id, o.checkout_id, taken.epoch FROM taken JOIN orders o ON o.id = taken.order_id
""",
)


class Driver(NamedTuple):
    """The process that drives sagas.

    Attributes:
        instance: The machine, and the process's name or the address it listens on: no two live processes share it.
        boot: A UUID drawn at its start.
    """

    instance: str
    boot: str


class PostgresCheckouts:
    """The checkout store in the schema `shop_order`."""

    def __init__(self, database: Database, driver: Driver, *, adds_events: bool = False) -> None:
        self._database = database
        self._driver = driver
        self._adds_events = adds_events

    async def claim(self, checkout: Checkout) -> Checkout:
        row = await self._database.fetchrow(
            CLAIM,
            checkout.id,
            checkout.user_id,
            checkout.idempotency_key,
            checkout.request_hash,
            *self._driver,
            [code.value for code in UNCERTAIN],
        )
        if row is not None:
            return replace(checkout, epoch=row["epoch"])
        first = await self._database.fetchrow(FIRST, checkout.user_id, checkout.idempotency_key)
        if first is None:
            raise no_such("user", checkout.user_id, "user_id")
        return checkout_of(first)

    async def advance(self, checkout: Checkout, step: Step) -> Checkout:
        await self._change(ADVANCE, checkout, step.value)
        return replace(checkout, step=step)

    async def place(self, checkout: Checkout, purchase: Purchase) -> Order:
        lines = purchase.lines
        statement, context = PLACE.choose(adds_events=self._adds_events)
        rows = await self._change(
            statement,
            checkout,
            purchase.total.amount_minor,
            purchase.total.currency,
            [line.line_number for line in lines],
            [line.product_id for line in lines],
            [line.quantity for line in lines],
            [line.unit_price.amount_minor for line in lines],
            *context,
        )
        return Order(
            id=rows[0]["id"],
            user_id=rows[0]["user_id"],
            status=OrderStatus.PENDING,
            placed_at=rows[0]["placed_at"],
            total=purchase.total,
            lines=tuple(
                OrderLine(row["line_id"], line.line_number, line.product_id, line.quantity, line.unit_price)
                for row, line in zip(rows, lines, strict=True)
            ),
        )

    async def complete(self, checkout: Checkout) -> None:
        statement, context = COMPLETE.choose(adds_events=self._adds_events)
        await self._change(statement, checkout, *context)

    async def start_undo(self, checkout: Checkout, step: Step, refusal: Refusal) -> Checkout:
        await self._change(START_UNDO, checkout, step.value, refusal.code.value, refusal.message, refusal.field)
        return replace(checkout, state=SagaState.UNDOING, step=step, refusal=refusal)

    async def fail(self, checkout: Checkout, refusal: Refusal) -> None:
        await self._change(FAIL, checkout, refusal.code.value, refusal.message, refusal.field)

    async def postpone(self, checkout: Checkout, seconds: float) -> None:
        await self._change(POSTPONE, checkout, seconds)

    async def take_stuck(self, limit: int) -> list[Checkout]:
        rows = await self._database.fetch(TAKE_STUCK, *self._driver, limit)
        return [checkout_of(row) for row in rows]

    async def _change(self, statement: Statement, checkout: Checkout, *values: Any) -> list[asyncpg.Record]:
        rows = await self._database.fetch(statement, checkout.id, checkout.epoch, *values)
        if not rows:
            raise TakenOver("another process has taken this checkout over; repeat the call in a moment")
        return rows


class PostgresCancellations:
    """The cancellation store in the schema `shop_order`."""

    def __init__(self, database: Database, driver: Driver, *, adds_events: bool = False) -> None:
        self._database = database
        self._driver = driver
        self._adds_events = adds_events

    async def begin(self, order_id: int) -> Cancellation | None:
        statement, context = BEGIN_CANCELLATION.choose(adds_events=self._adds_events)
        row = await self._database.fetchrow(statement, order_id, *self._driver, *context)
        return None if row is None else cancellation_of(row)

    async def find_running(self, order_id: int) -> Cancellation | None:
        row = await self._database.fetchrow(UNFINISHED_CANCELLATION, order_id)
        return None if row is None else cancellation_of(row)

    async def complete(self, cancellation: Cancellation) -> None:
        await self._database.fetchrow(COMPLETE_CANCELLATION, cancellation.order_id)

    async def postpone(self, cancellation: Cancellation, seconds: float) -> None:
        await self._database.fetchrow(POSTPONE_CANCELLATION, cancellation.order_id, seconds)

    async def take_stuck(self, limit: int) -> list[Cancellation]:
        rows = await self._database.fetch(TAKE_STUCK_CANCELLATIONS, *self._driver, limit)
        return [cancellation_of(row) for row in rows]


def checkout_of(row: asyncpg.Record) -> Checkout:
    """Returns the checkout in a row of `CHECKOUT_COLUMNS`."""
    refusal = None
    if row["error_code"] is not None:
        refusal = Refusal(ErrorCode(row["error_code"]), row["error_message"], row["error_field"])
    return Checkout(
        id=str(row["id"]),
        user_id=row["user_id"],
        idempotency_key=row["idempotency_key"],
        request_hash=row["request_hash"],
        state=SagaState(row["state"]),
        step=Step(row["step"]),
        order_id=row["order_id"],
        refusal=refusal,
        epoch=row["epoch"],
    )


def cancellation_of(row: asyncpg.Record) -> Cancellation:
    """Returns the cancellation in a row that has its order, checkout and epoch."""
    return Cancellation(row["order_id"], str(row["checkout_id"]), row["epoch"])
