"""Notifications in PostgreSQL."""

# ruff: noqa: S608 - only constants are put into the statements

from __future__ import annotations

from collections.abc import Sequence

import asyncpg

from shop.errors import Conflict, no_such
from shop.platform.database.pool import Database
from shop.platform.database.statements import Statement
from shop.platform.telemetry.events import NOT_TRACED, EventTraces
from shop.values.notification import KEPT, Event, Notification
from shop.values.order import OrderStatus

CHANNEL = "shop_notification"
"""NOTIFY channel: each message names a customer who has news or, if sent by the user service, whose account is gone."""
COLUMNS = "position, order_id, status, happened_at, read, traceparent, added_at"
QUEUE = "shop_notification.notification"
THERE = "user_id = $1 AND NOT EXISTS (SELECT FROM shop_shared.deleted_user WHERE id = $1)"
ADD = Statement(
    "INSERT notification",
    f"""
    WITH told AS (
        SELECT event.* FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::timestamptz[], $6::text[])
            AS event (id, order_id, user_id, status, happened_at, traceparent)
        WHERE NOT EXISTS (SELECT FROM notification WHERE event_id = event.id)
            AND NOT EXISTS (SELECT FROM shop_shared.deleted_user WHERE id = event.user_id)
    ), counted AS (
        INSERT INTO mailbox (user_id, last_position)
        SELECT user_id, count(*) FROM told GROUP BY user_id ORDER BY user_id
        ON CONFLICT (user_id) DO UPDATE SET last_position = mailbox.last_position + EXCLUDED.last_position
        RETURNING user_id, last_position
    ), added AS (
        INSERT INTO notification (user_id, position, event_id, order_id, status, happened_at, traceparent)
        SELECT user_id, last_position + 1 - row_number() OVER (PARTITION BY user_id ORDER BY told.id DESC),
            told.id, order_id, status, happened_at, traceparent
        FROM told JOIN counted USING (user_id)
    ), dropped AS (
        DELETE FROM notification old USING counted
        WHERE old.user_id = counted.user_id AND old.position <= counted.last_position - {KEPT}
    )
    SELECT pg_notify('{CHANNEL}', user_id::text) FROM counted
""",
)
NEWEST = Statement("SELECT notification", f"SELECT {COLUMNS} FROM notification WHERE {THERE} ORDER BY position DESC")
# Always returns a row, which says whether the account is gone.
BEHIND = Statement(
    "SELECT notification",
    f"""
    SELECT gone, {COLUMNS}
    FROM (SELECT EXISTS (SELECT FROM shop_shared.deleted_user WHERE id = $1) AS gone) AS account
    LEFT JOIN notification ON user_id = $1 AND position > $2
    ORDER BY position LIMIT $3""",
)
LAST_POSITION = Statement("SELECT mailbox", f"SELECT last_position FROM mailbox WHERE {THERE}")
MARK_READ = Statement(
    "UPDATE notification",
    """
    WITH marked AS (UPDATE notification SET read = true WHERE user_id = $1 AND position <= $2 AND NOT read)
    SELECT count(*) AS unread FROM notification WHERE user_id = $1 AND position > $2 AND NOT read
""",
)


class PostgresNotifications:
    """The notification store in the schema `shop_notification`."""

    def __init__(self, database: Database, traces: EventTraces = NOT_TRACED) -> None:
        self._database = database
        self._traces = traces

    async def add(self, events: Sequence[Event]) -> None:
        try:
            await self._database.fetch(
                ADD,
                [event.id for event in events],
                [event.order_id for event in events],
                [event.user_id for event in events],
                [event.status.value for event in events],
                [event.happened_at for event in events],
                [event.traceparent or None for event in events],
            )
        except asyncpg.UniqueViolationError as error:
            raise Conflict("another call is adding the same event; try again") from error

    async def newest(self, user_id: int) -> list[Notification]:
        return [_notification(row) for row in await self._database.fetch(NEWEST, user_id)]

    async def mark_read(self, user_id: int, up_to: int) -> int:
        row = await self._database.fetchrow(MARK_READ, user_id, up_to)
        return 0 if row is None else row["unread"]

    async def last_position(self, user_id: int) -> int | None:
        row = await self._database.fetchrow(LAST_POSITION, user_id)
        return None if row is None else row["last_position"]

    async def behind(self, user_id: int, position: int, limit: int) -> list[Notification]:
        rows = await self._database.fetch(BEHIND, user_id, position, limit)
        if rows[0]["gone"]:
            raise no_such("user", user_id, "user_id")
        rows = [row for row in rows if row["position"] is not None]
        for row in rows:
            if row["traceparent"]:
                self._traces.record_receive(QUEUE, row["traceparent"], row["added_at"])
        return [_notification(row) for row in rows]


def _notification(row: asyncpg.Record) -> Notification:
    return Notification(
        row["position"],
        row["order_id"],
        OrderStatus(row["status"]),
        row["happened_at"],
        row["read"],
        row["traceparent"] or "",
    )
