"""Customers' notifications, the same in the service and in a gateway: `/v1/users/{user_id}/notifications`."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from fastapi import FastAPI

from shop.contract.ports import Notifications, Orders
from shop.platform.access.streams import Streams
from shop.platform.http.caching import PERSONAL
from shop.platform.rest.answers import Answer, answer_changed, ok
from shop.platform.rest.events import EventStream, LastEventId, StreamEvent, event_stream
from shop.platform.rest.openapi import changing, reading, streaming
from shop.platform.rest.parameters import OrderId, UserId
from shop.platform.rest.requests import RestCall
from shop.resources.request_bodies import ReadUpTo
from shop.resources.response_bodies import NotificationList, Unread
from shop.values.notification import Notification, Update

POLL_S = 5
"""How long a polling client should wait between two requests, in seconds."""
TAG = "notifications"


def add_notifications(
    api: FastAPI, notifications: Notifications, orders: Orders | None = None, streams: Streams | None = None
) -> None:
    """Declares the routes of notifications.

    Args:
        orders: Shows callers only the orders that they may see; None where `notifications` itself checks the order.
        streams: Limits and ends the streams of updates; None where `notifications` itself does.
    """

    @api.api_route(**reading(TAG, Notifications.list_notifications))
    async def list_notifications(call: RestCall, user_id: UserId) -> Answer[NotificationList]:
        """A customer's notifications, newest first, the last 100: a customer's own, any for partners."""
        answer = ok(call, NotificationList(await notifications.list_notifications(user_id)), PERSONAL)
        answer.raw_headers.append((b"retry-after", b"%d" % POLL_S))
        return answer

    @api.api_route(**changing(TAG, Notifications.mark_read))
    async def mark_read(user_id: UserId, read: ReadUpTo) -> Answer[Unread]:
        """Marks a customer's notifications as read, up to a position."""
        return answer_changed(Unread(await notifications.mark_read(user_id, read.up_to_position)))

    @api.api_route(**streaming(TAG, Notifications.watch_notifications))
    async def watch_notifications(user_id: UserId, last_event_id: LastEventId = None) -> EventStream[Notification]:
        """A stream of updates of a customer's orders: a customer's own, any for partners."""
        updates = notifications.watch_notifications(user_id, _position(last_event_id))
        return await event_stream("order", _events(updates if streams is None else streams.hold(updates)))

    @api.api_route(**streaming(TAG, Notifications.watch_order))
    async def watch_order(order_id: OrderId, last_event_id: LastEventId = None) -> EventStream[Notification]:
        """A stream of updates of one order: a customer's own, any for partners."""
        if orders is not None:
            await orders.get_order(order_id)
        updates = notifications.watch_order(order_id, _position(last_event_id))
        return await event_stream("order", _events(updates if streams is None else streams.hold(updates)))


async def _events(updates: AsyncGenerator[Update]) -> AsyncGenerator[StreamEvent[Notification]]:
    async for update in updates:
        yield update.position, update.notification


def _position(last_event_id: str | None) -> int | None:
    return None if last_event_id is None else int(last_event_id)
