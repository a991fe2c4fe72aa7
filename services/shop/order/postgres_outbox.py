"""Order events in PostgreSQL, until they are delivered: a transactional outbox.

A statement that changes an order's status also inserts the event, so that the event exists if and only if the change
does. If events are not delivered, another statement makes only the change.
"""

# ruff: noqa: S608 - only constants are put into the statements

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from shop.platform.database.pool import Database
from shop.platform.database.statements import Statement
from shop.platform.telemetry.tracing import sampled_traceparent
from shop.values.notification import Event
from shop.values.order import OrderStatus

CHANNEL = "shop_outbox"
"""NOTIFY channel for new events; the payload is `PENDING` if all of them concern newly placed orders."""
# Locking the oldest event of an order locks the order: while that event exists, no other process takes a later event.
TAKE = Statement(
    "DELETE outbox",
    """
    WITH mine AS (
        SELECT order_id FROM outbox event
        WHERE NOT EXISTS (SELECT FROM outbox earlier WHERE earlier.order_id = event.order_id AND earlier.id < event.id)
        ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED
    )
    DELETE FROM outbox USING mine WHERE outbox.order_id = mine.order_id
    RETURNING id, outbox.order_id, user_id, status, happened_at, traceparent
""",
)


class Change(NamedTuple):
    """A change to an order's status, as a statement.

    Attributes:
        alone: Statement that makes only the change.
        with_event: Statement that also inserts the event; its last parameter is the trace context.
    """

    alone: Statement
    with_event: Statement

    @classmethod
    def of(cls, name: str, parts: str, answer: str, *, rows: str, context: str) -> Change:
        """Returns a change.

        Args:
            parts: The parts of the statement's WITH that make the change.
            answer: The query that reads these parts.
            rows: Name of the part with the changed orders: id, user_id, status.
            context: Placeholder of the last parameter, the trace context: "$4".
        """
        columns = "order_id, user_id, status, traceparent"
        insert = f"added AS (INSERT INTO outbox ({columns}) SELECT id, user_id, status, {context} FROM {rows})"
        return cls(Statement(name, f"{parts} {answer}"), Statement(name, f"{parts}, {insert} {answer}"))

    def choose(self, *, adds_events: bool) -> tuple[Statement, tuple[str | None, ...]]:
        """Returns the statement with or without an event, and the statement's last parameters."""
        return (self.with_event, (sampled_traceparent(),)) if adds_events else (self.alone, ())


class PostgresOutbox:
    """The outbox in the schema `shop_order`, over separate connections: deliveries must not delay requests."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @asynccontextmanager
    async def lend(self, orders: int) -> AsyncIterator[list[Event]]:
        async with self._database.transaction() as connection:
            rows = await connection.fetch(TAKE, orders)
            yield [
                Event(
                    row["id"],
                    row["order_id"],
                    row["user_id"],
                    OrderStatus(row["status"]),
                    row["happened_at"],
                    row["traceparent"] or "",
                )
                for row in sorted(rows, key=lambda row: row["id"])
            ]
