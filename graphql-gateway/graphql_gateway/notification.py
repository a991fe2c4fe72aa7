"""Customers' notifications about their orders: reading them, marking them as read, and subscribing to them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

import strawberry

from graphql_gateway.objects.entities import GatewayInfo, Order, order_of
from graphql_gateway.objects.global_id import number_of
from graphql_gateway.order import own_order
from shop.contract.ports import Notifications
from shop.platform.deadline import begin
from shop.platform.graphql.field import field, stream_field
from shop.platform.graphql.scalars import Instant
from shop.values import notification as values
from shop.values.order import OrderStatus

_AFTER = "`after` is the last known position; without it, the stream begins with new updates."


@strawberry.type(description="A customer's notification of an order.")
class Notification:
    position: int = strawberry.field(description="Number among the customer's notifications, from 1.")
    status: OrderStatus = strawberry.field(description="The order's new status.")
    created_at: Instant = strawberry.field(description="When the order changed.")
    read: bool = strawberry.field(description="Whether the customer has read it.")
    traceparent: str = strawberry.field(description="Context of the trace that follows it (W3C); empty if none does.")
    order_number: strawberry.Private[int]

    @classmethod
    def of(cls, notification: values.Notification) -> Notification:
        return cls(
            position=notification.position,
            status=notification.status,
            created_at=Instant(notification.created_at),
            read=notification.read,
            traceparent=notification.traceparent,
            order_number=notification.order_id,
        )

    @field(description="The order as it is now.")
    def order(self, info: GatewayInfo) -> Order | None:
        return order_of(info, self.order_number)


@strawberry.type(description="A part of a stream of notifications.")
class NotificationUpdate:
    position: int = strawberry.field(description="Position after which another stream continues.")
    notification: Notification | None = strawberry.field(
        description="Null if the stream has just opened, or is still open after a while of silence."
    )


@strawberry.input
class MarkReadInput:
    """The position up to which a customer has read."""

    up_to_position: int
    user_id: strawberry.ID | None = strawberry.field(default=None, description="Whose; with a partner's token only.")


@strawberry.type
class MarkReadPayload:
    """The number of unread notifications."""

    unread: int


@strawberry.type
class NotificationQuery:
    """The fields of `Query` that return notifications."""

    @field(description="The token owner's notifications, newest first, the last 100; partners give `userId`.")
    async def notifications(self, info: GatewayInfo, user_id: strawberry.ID | None = None) -> list[Notification]:
        notifications = await info.context.clients.notification.list_notifications(
            _whose(info, Notifications.list_notifications, user_id, "userId")
        )
        return [Notification.of(one) for one in notifications]


@strawberry.type
class NotificationMutation:
    """The fields of `Mutation` that change notifications."""

    @field(description="Marks a customer's notifications as read, up to a position.")
    async def mark_notifications_read(self, info: GatewayInfo, input: MarkReadInput) -> MarkReadPayload:  # noqa: A002
        user = _whose(info, Notifications.mark_read, input.user_id, "input.userId")
        return MarkReadPayload(unread=await info.context.clients.notification.mark_read(user, input.up_to_position))


@strawberry.type(description="All subscriptions, at `/graphql/stream`.")
class Subscription:
    @stream_field(description=f"Updates of the token owner's orders; partners give `userId`. {_AFTER}")
    async def notifications(
        self, info: GatewayInfo, after: int | None = None, user_id: strawberry.ID | None = None
    ) -> AsyncGenerator[NotificationUpdate]:
        user = _whose(info, Notifications.watch_notifications, user_id, "userId")
        async for update in _follow(info, info.context.clients.notification.watch_notifications(user, after)):
            yield update

    @stream_field(description=f"Updates of one order. The customer and partners only. {_AFTER}")
    async def order_notifications(
        self, info: GatewayInfo, order_id: strawberry.ID, after: int | None = None
    ) -> AsyncGenerator[NotificationUpdate]:
        order = await own_order(info, number_of(order_id, "Order", "orderId"))
        async for update in _follow(info, info.context.clients.notification.watch_order(order.number, after)):
            yield update


async def _follow(info: GatewayInfo, updates: AsyncGenerator[values.Update]) -> AsyncGenerator[NotificationUpdate]:
    async for update in info.context.lasting(updates):
        # What was read for the previous update may have changed.
        info.context.renew()
        notification = update.notification
        shown = None if notification is None else Notification.of(notification)
        yield NotificationUpdate(position=update.position, notification=shown)
        begin(None)


def _whose(info: GatewayInfo, method: Callable[..., Any], user_id: strawberry.ID | None, argument: str) -> int:
    """Returns the user whom a call concerns, if the caller may make the call for this user."""
    caller = info.context.caller
    if user_id is None:
        return caller.customer_id()
    named = number_of(user_id, "User", argument)
    info.context.admit(method, named, argument)
    return named
