"""Orders and their lines in PostgreSQL."""

# ruff: noqa: S608 - only constants are put into the statements

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from itertools import groupby

import asyncpg

from shop.fields import MAX_ID
from shop.money import Money
from shop.order.postgres_outbox import Change
from shop.platform.database.pool import Database
from shop.platform.database.statements import Statement
from shop.values.order import JoinedOrderLine, Order, OrderLine, OrderStatus

BUYER = "CASE WHEN gone.id IS NULL THEN o.user_id ELSE 0 END"
"""The buyer of an order. An order outlives its buyer's account and then belongs to nobody, so that no customer's token
can read it."""
IF_GONE = "LEFT JOIN shop_shared.deleted_user gone ON gone.id = o.user_id"
ORDER_COLUMNS = f"o.id, {BUYER} AS user_id, o.status, o.placed_at, o.total_minor, o.currency"
LINE_COLUMNS = "l.id AS line_id, l.line_number, l.product_id, l.quantity, l.unit_price_minor"
WITH_LINES = f"SELECT {ORDER_COLUMNS}, {LINE_COLUMNS} FROM orders o JOIN order_line l ON l.order_id = o.id {IF_GONE}"

GET = Statement("SELECT orders", f"{WITH_LINES} WHERE o.id = $1 ORDER BY l.line_number")
GET_MANY = Statement("SELECT orders", f"{WITH_LINES} WHERE o.id = ANY($1) ORDER BY o.id, l.line_number")
OF_USER = Statement(
    "SELECT orders",
    f"""
    SELECT o.id, o.user_id, o.status, o.placed_at, o.total_minor, o.currency, {LINE_COLUMNS}
    FROM (
        SELECT * FROM orders
        WHERE user_id = $1 AND id < $2 AND NOT EXISTS (SELECT FROM shop_shared.deleted_user WHERE id = $1)
        ORDER BY id DESC LIMIT $3
    ) o
    JOIN order_line l ON l.order_id = o.id
    ORDER BY o.id DESC, l.line_number
""",
)
MOVE = Change.of(
    "UPDATE orders",
    "WITH o AS (UPDATE orders SET status = $3 WHERE id = $1 AND status = $2 RETURNING *)",
    f"""
    SELECT {ORDER_COLUMNS}, {LINE_COLUMNS} FROM o JOIN order_line l ON l.order_id = o.id {IF_GONE}
    ORDER BY l.line_number
""",
    rows="o",
    context="$4",
)
# Only for partners, who may know all buyers: this returns the buyer's id without looking up deleted accounts.
LINES = Statement(
    "SELECT order_line",
    """
    SELECT l.id, l.order_id, o.user_id, o.status, o.placed_at, l.product_id, l.quantity, l.unit_price_minor, o.currency
    FROM order_line l JOIN orders o ON o.id = l.order_id
    WHERE l.id > $1 ORDER BY l.id LIMIT $2
""",
)
ROWS_AT_ONCE = 5_000
"""Maximum number of rows that a statement of a stream reads, and that the stream holds in memory."""


class PostgresOrders:
    """The order store in the schema `shop_order`; `adds_events` if changes of status add events to the outbox."""

    def __init__(self, database: Database, *, adds_events: bool = False) -> None:
        self._database = database
        self._adds_events = adds_events

    async def get(self, order_id: int) -> Order | None:
        return next(orders_of(await self._database.fetch(GET, order_id)), None)

    async def get_many(self, order_ids: Sequence[int]) -> list[Order]:
        return list(orders_of(await self._database.fetch(GET_MANY, order_ids)))

    async def of_user(self, user_id: int, *, before: int, limit: int) -> list[Order]:
        return list(orders_of(await self._database.fetch(OF_USER, user_id, before or MAX_ID, limit)))

    async def move(self, order_id: int, *, current: OrderStatus, wanted: OrderStatus) -> Order | None:
        statement, context = MOVE.choose(adds_events=self._adds_events)
        rows = await self._database.fetch(statement, order_id, current.value, wanted.value, *context)
        return next(orders_of(rows), None)

    async def lines(self, *, after: int, limit: int, chunk: int) -> AsyncGenerator[list[JoinedOrderLine]]:
        while limit > 0:
            asked = min(limit, ROWS_AT_ONCE)
            # The connection is free again before a chunk is passed on, because readers may be slow.
            rows = await self._database.fetch(LINES, after, asked)
            for start in range(0, len(rows), chunk):
                yield [_line_of(row) for row in rows[start : start + chunk]]
            if len(rows) < asked:
                return
            after = rows[-1]["id"]
            limit -= asked


def orders_of(rows: Iterable[asyncpg.Record]) -> Iterator[Order]:
    """Builds orders from rows of `WITH_LINES`, in which the lines of an order are adjacent."""
    for _, group in groupby(rows, key=lambda row: row["id"]):
        lines = list(group)
        first = lines[0]
        currency = first["currency"]
        yield Order(
            id=first["id"],
            user_id=first["user_id"],
            status=OrderStatus(first["status"]),
            placed_at=first["placed_at"],
            total=Money(first["total_minor"], currency),
            lines=tuple(
                OrderLine(
                    id=row["line_id"],
                    line_number=row["line_number"],
                    product_id=row["product_id"],
                    quantity=row["quantity"],
                    unit_price=Money(row["unit_price_minor"], currency),
                )
                for row in lines
            ),
        )


def _line_of(row: asyncpg.Record) -> JoinedOrderLine:
    return JoinedOrderLine(
        id=row["id"],
        order_id=row["order_id"],
        user_id=row["user_id"],
        status=OrderStatus(row["status"]),
        placed_at=row["placed_at"],
        product_id=row["product_id"],
        quantity=row["quantity"],
        unit_price=Money(row["unit_price_minor"], row["currency"]),
    )
