"""The notification service over gRPC: decodes requests, calls the service, encodes answers."""

# ruff: noqa: N802, ARG002 - the methods have the contract's names and gRPC's arguments

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, TypeAlias

from grpc.aio import Server, ServicerContext

from shop.messages.notification import event_from, notification_message
from shop.notification.service import NotificationService
from shop.platform.access.rules import Access, admits, require_owner
from shop.platform.deadline import lift
from shop.stubs import notification_pb2 as pb
from shop.stubs import notification_pb2_grpc
from shop.values.notification import Update

Context: TypeAlias = "ServicerContext[Any, Any]"


class NotificationServicer(notification_pb2_grpc.NotificationServiceServicer):
    """Serves `shop.notification.v1.NotificationService`; the server's interceptors turn errors into statuses."""

    def __init__(self, service: NotificationService) -> None:
        self._service = service

    @admits(Access.INTERNAL)
    async def Notify(self, request: pb.NotifyRequest, context: Context) -> pb.NotifyResponse:
        await self._service.notify([event_from(event) for event in request.events])
        return pb.NotifyResponse()

    @admits(Access.CALLER)
    async def ListNotifications(
        self, request: pb.ListNotificationsRequest, context: Context
    ) -> pb.ListNotificationsResponse:
        require_owner(request.user_id)
        told = await self._service.list_notifications(request.user_id)
        return pb.ListNotificationsResponse(notifications=map(notification_message, told))

    @admits(Access.CALLER)
    async def MarkRead(self, request: pb.MarkReadRequest, context: Context) -> pb.MarkReadResponse:
        require_owner(request.user_id)
        return pb.MarkReadResponse(unread=await self._service.mark_read(request.user_id, request.up_to_position))

    @admits(Access.CALLER)
    async def WatchOrder(self, request: pb.WatchOrderRequest, context: Context) -> AsyncIterator[pb.WatchOrderResponse]:
        lift()
        async with aclosing(self._service.watch_order(request.order_id, _after(request))) as updates:
            async for update in updates:
                yield pb.WatchOrderResponse(**_parts(update))

    @admits(Access.CALLER)
    async def WatchNotifications(
        self, request: pb.WatchNotificationsRequest, context: Context
    ) -> AsyncIterator[pb.WatchNotificationsResponse]:
        require_owner(request.user_id)
        lift()
        async with aclosing(self._service.watch_notifications(request.user_id, _after(request))) as updates:
            async for update in updates:
                yield pb.WatchNotificationsResponse(**_parts(update))


def register(server: Server, service: NotificationService) -> list[str]:
    """Adds the service to a server and returns the full names of what was added, for health and reflection."""
    notification_pb2_grpc.add_NotificationServiceServicer_to_server(NotificationServicer(service), server)
    return [pb.DESCRIPTOR.services_by_name["NotificationService"].full_name]


def _after(request: pb.WatchOrderRequest | pb.WatchNotificationsRequest) -> int | None:
    return request.after_position if request.HasField("after_position") else None


def _parts(update: Update) -> dict[str, Any]:
    notification = update.notification and notification_message(update.notification)
    return {"notification": notification, "position": update.position}
