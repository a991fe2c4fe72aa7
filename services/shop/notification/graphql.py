"""Notifications over GraphQL: decodes, calls, encodes. The types have the attributes of the value types."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeAlias, cast

import strawberry

from shop.notification.service import NotificationService
from shop.platform.graphql.endpoint import Endpoint
from shop.platform.graphql.field import field, followed
from shop.platform.graphql.scalars import Instant, Long
from shop.platform.graphql.schema import Schema
from shop.platform.graphql.service import ServiceContext, graphql_app
from shop.platform.incoming import Incoming
from shop.values import notification as values
from shop.values.order import OrderStatus

Info: TypeAlias = strawberry.Info[ServiceContext[NotificationService], None]

strawberry.enum(OrderStatus, description="How far an order has come.")


@strawberry.type
class Notification:
    """What a customer is told of an order."""

    position: Long
    order_id: Long
    status: OrderStatus
    created_at: Instant
    read: bool
    traceparent: str


@strawberry.type
class Update:
    """A part of a stream of notifications; without one it says that the stream is open, or still is."""

    notification: Notification | None
    position: Long


@strawberry.input
class EventInput:
    """What happened to an order."""

    id: Long
    order_id: Long
    user_id: Long
    status: OrderStatus
    happened_at: Instant
    traceparent: str


@strawberry.type
class Query:
    """What can be read."""

    @field(description="What is kept of a customer's notifications, newest first.")
    async def notifications(self, info: Info, user_id: Long) -> list[Notification]:
        return cast(list[Notification], await info.context.service.list_notifications(user_id))


@strawberry.type
class Mutation:
    """What can be changed."""

    @field(description="Stores what happened to orders, once by id, and returns how many events these were.")
    async def notify(self, info: Info, events: list[EventInput]) -> int:
        told = [
            values.Event(event.id, event.order_id, event.user_id, event.status, event.happened_at, event.traceparent)
            for event in events
        ]
        await info.context.service.notify(told)
        return len(told)

    @field(description="Marks a customer's notifications as read up to a position; returns how many are left.")
    async def mark_read(self, info: Info, user_id: Long, up_to_position: Long) -> Long:
        return Long(await info.context.service.mark_read(user_id, up_to_position))


@strawberry.type
class Subscription:
    """What can be followed, behind a position or from now on."""

    @followed(description="What happens to one order.")
    async def watch_order(
        self, info: Info, order_id: Long, after_position: Long | None = None
    ) -> AsyncGenerator[Update]:
        async with aclosing(info.context.service.watch_order(order_id, after_position)) as updates:
            async for update in updates:
                yield cast(Update, update)

    @followed(description="What happens to all of a customer's orders.")
    async def watch_notifications(
        self, info: Info, user_id: Long, after_position: Long | None = None
    ) -> AsyncGenerator[Update]:
        async with aclosing(info.context.service.watch_notifications(user_id, after_position)) as updates:
            async for update in updates:
                yield cast(Update, update)


def build_app(service: NotificationService, incoming: Incoming) -> Endpoint:
    """Returns the notifications' GraphQL application."""
    return graphql_app(Schema(query=Query, mutation=Mutation, subscription=Subscription), service, incoming)
