"""Notifications as a GraphQL client sees them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any

from msgspec.structs import asdict

from shop.clients.graphql.channel import Document, GraphQLPeer
from shop.values.notification import Event, Notification, Update
from shop.values.order import OrderStatus

_NOTIFICATION = "{ position orderId status createdAt read traceparent }"
_UPDATE = f"{{ position notification {_NOTIFICATION} }}"

NOTIFY = Document("mutation Notify($events: [EventInput!]!) { notify(events: $events) }")
LIST = Document(f"query ListNotifications($userId: Long!) {{ notifications(userId: $userId) {_NOTIFICATION} }}")
MARK_READ = Document(
    "mutation MarkRead($userId: Long!, $upToPosition: Long!) { markRead(userId: $userId, upToPosition: $upToPosition) }"
)
WATCH_ORDER = Document(
    "subscription WatchOrder($orderId: Long!, $afterPosition: Long) "
    f"{{ watchOrder(orderId: $orderId, afterPosition: $afterPosition) {_UPDATE} }}"
)
WATCH_NOTIFICATIONS = Document(
    "subscription WatchNotifications($userId: Long!, $afterPosition: Long) "
    f"{{ watchNotifications(userId: $userId, afterPosition: $afterPosition) {_UPDATE} }}"
)


class GraphQLNotificationClient(GraphQLPeer):
    """`shop.clients.ports.NotificationClient` over GraphQL."""

    async def notify(self, events: Sequence[Event]) -> None:
        await self.run(NOTIFY, events=[asdict(event) for event in events])

    async def list_notifications(self, user_id: int) -> list[Notification]:
        return [_notification(answer) for answer in await self.run(LIST, user_id=user_id)]

    async def mark_read(self, user_id: int, up_to_position: int) -> int:
        return int(await self.run(MARK_READ, user_id=user_id, up_to_position=up_to_position))

    async def watch_order(self, order_id: int, after: int | None = None) -> AsyncGenerator[Update]:
        async with aclosing(self.follow(WATCH_ORDER, order_id=order_id, after_position=after)) as answers:
            async for answer in answers:
                yield _update(answer)

    async def watch_notifications(self, user_id: int, after: int | None = None) -> AsyncGenerator[Update]:
        async with aclosing(self.follow(WATCH_NOTIFICATIONS, user_id=user_id, after_position=after)) as answers:
            async for answer in answers:
                yield _update(answer)


def _update(answer: dict[str, Any]) -> Update:
    told = answer["notification"]
    return Update(None if told is None else _notification(told), answer["position"])


def _notification(answer: dict[str, Any]) -> Notification:
    return Notification(
        answer["position"],
        answer["orderId"],
        OrderStatus(answer["status"]),
        datetime.fromisoformat(answer["createdAt"]),
        answer["read"],
        answer["traceparent"],
    )
