"""The notification service as a REST client sees it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from shop.clients.rest.channel import RestPeer
from shop.values.notification import Event, Notification

_OF_USER = "/v1/users/{user_id}/notifications"


class _Stored(msgspec.Struct):
    events: int


class _Notifications(msgspec.Struct):
    notifications: list[Notification]


class _Unread(msgspec.Struct):
    unread: int


class RestNotificationClient(RestPeer):
    """`shop.clients.ports.NotificationClient` over REST, without streams: no part of the shop watches over REST."""

    async def notify(self, events: Sequence[Event]) -> None:
        await self.send(_Stored, "POST", "/v1/order-events", body={"events": events})

    async def list_notifications(self, user_id: int) -> list[Notification]:
        return (await self.get(_Notifications, _OF_USER, user_id)).notifications

    async def mark_read(self, user_id: int, up_to_position: int) -> int:
        body = {"up_to_position": up_to_position}
        return (await self.send(_Unread, "POST", f"{_OF_USER}:markRead", user_id, body=body)).unread
