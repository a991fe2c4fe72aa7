"""The use cases of the notification service, over its store and the order and user services."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from shop.contract.ports import OrderClient, UserClient
from shop.errors import InvalidArgument, NotFound
from shop.fields import MAX_ID
from shop.notification.ports import NotificationStore
from shop.notification.watching import Watchers
from shop.platform import validation
from shop.platform.access.streams import Streams
from shop.values.notification import Event, Notification, Update
from shop.values.order import OrderStatus

MAX_EVENTS = 100


class NotificationService:
    """The use cases of notifications: the methods and errors of `shop.contract.ports.NotificationClient`."""

    def __init__(
        self, store: NotificationStore, watchers: Watchers, streams: Streams, orders: OrderClient, users: UserClient
    ) -> None:
        self._store = store
        self._watchers = watchers
        self._streams = streams
        self._orders = orders  # shows callers only the orders that they may see
        self._users = users

    async def notify(self, events: Sequence[Event]) -> None:
        validation.between(len(events), "events", 1, MAX_EVENTS)
        for index, event in enumerate(events):
            for name in ("id", "order_id", "user_id"):
                validation.identifier(getattr(event, name), f"events[{index}].{name}")
            if event.status is OrderStatus.FAILED:
                field = f"events[{index}].status"
                raise InvalidArgument(f"{field} is not a status of notifications", field=field)
        validation.distinct([event.id for event in events], lambda index: f"events[{index}].id")
        await self._store.add(events)

    async def list_notifications(self, user_id: int) -> list[Notification]:
        return await self._store.newest(validation.identifier(user_id, "user_id"))

    async def mark_read(self, user_id: int, up_to_position: int) -> int:
        validation.identifier(user_id, "user_id")
        return await self._store.mark_read(user_id, validation.identifier(up_to_position, "up_to_position"))

    def watch_order(self, order_id: int, after: int | None = None) -> AsyncGenerator[Update]:
        _check_position(after)
        validation.identifier(order_id, "order_id")
        return self._streams.hold(self._of_order(order_id, after))

    async def _of_order(self, order_id: int, after: int | None) -> AsyncGenerator[Update]:
        order = await self._orders.get_order(order_id)
        if not order.user_id:
            raise NotFound(f"the account that order {order.id} belonged to is gone: nothing more happens to the order")
        async with aclosing(self._watchers.watch(order.user_id, after, order.id)) as updates:
            async for update in updates:
                yield update

    def watch_notifications(self, user_id: int, after: int | None = None) -> AsyncGenerator[Update]:
        _check_position(after)
        validation.identifier(user_id, "user_id")
        return self._streams.hold(self._of_customer(user_id, after))

    async def _of_customer(self, user_id: int, after: int | None) -> AsyncGenerator[Update]:
        if await self._store.last_position(user_id) is None:
            await self._users.get_user(user_id)
        async with aclosing(self._watchers.watch(user_id, after)) as updates:
            async for update in updates:
                yield update


def _check_position(after: int | None) -> None:
    if after is not None:
        validation.between(after, "after_position", 0, MAX_ID)
