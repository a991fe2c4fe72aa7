"""Notifications as a gRPC client sees them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TypeVar

import grpc.aio

from shop.messages.notification import event_message, notification_from
from shop.messages.shared import build
from shop.platform.grpc.client import Peer
from shop.stubs import notification_pb2 as pb
from shop.stubs import notification_pb2_grpc
from shop.values.notification import Event, Notification, Update

Told = TypeVar("Told", pb.WatchOrderResponse, pb.WatchNotificationsResponse)


class GrpcNotificationClient:
    """`shop.clients.ports.NotificationClient` over gRPC."""

    def __init__(self, peer: Peer, channel: grpc.aio.Channel) -> None:
        self._peer = peer
        self._stub = notification_pb2_grpc.NotificationServiceStub(channel)

    async def notify(self, events: Sequence[Event]) -> None:
        request = pb.NotifyRequest(events=map(event_message, events))
        await self._peer.unary(self._stub.Notify, "Notify", request)

    async def list_notifications(self, user_id: int) -> list[Notification]:
        request = build(pb.ListNotificationsRequest, user_id=user_id)
        response = await self._peer.unary(self._stub.ListNotifications, "ListNotifications", request)
        return [notification_from(message) for message in response.notifications]

    async def mark_read(self, user_id: int, up_to_position: int) -> int:
        request = build(pb.MarkReadRequest, user_id=user_id, up_to_position=up_to_position)
        return (await self._peer.unary(self._stub.MarkRead, "MarkRead", request)).unread

    def watch_order(self, order_id: int, after: int | None = None) -> AsyncGenerator[Update]:
        request = build(pb.WatchOrderRequest, order_id=order_id, after_position=after)
        return _updates(self._peer.watch(self._stub.WatchOrder, "WatchOrder", request))

    def watch_notifications(self, user_id: int, after: int | None = None) -> AsyncGenerator[Update]:
        request = build(pb.WatchNotificationsRequest, user_id=user_id, after_position=after)
        return _updates(self._peer.watch(self._stub.WatchNotifications, "WatchNotifications", request))


async def _updates(
    messages: AsyncGenerator[Told],
) -> AsyncGenerator[Update]:
    async with aclosing(messages):
        async for message in messages:
            told = notification_from(message.notification) if message.HasField("notification") else None
            yield Update(told, message.position)
