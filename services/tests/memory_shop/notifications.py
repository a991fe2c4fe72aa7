"""Notifications in memory, which wake watchers like the database's NOTIFY."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Set
from datetime import UTC, datetime

from msgspec.structs import replace

from shop.errors import no_such
from shop.notification.watching import Watchers
from shop.values.notification import KEPT, Event, Notification
from shop.values.order import OrderStatus

WHEN = datetime(2026, 1, 2, 3, 4, 5, 678_900, UTC)
"""The time of every event in tests."""


class MemoryNotifications:
    """The notification store in one process; `gone` are users whose accounts have been deleted."""

    def __init__(self, gone: Set[int] = frozenset()) -> None:
        self.watchers = Watchers(self)
        self._gone = gone
        self._of_user: defaultdict[int, list[Notification]] = defaultdict(list)
        self._known: set[int] = set()

    async def add(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.id not in self._known and event.user_id not in self._gone:
                self._known.add(event.id)
                kept, position = self._of_user[event.user_id], (await self.last_position(event.user_id) or 0) + 1
                kept.append(Notification(position, event.order_id, event.status, event.happened_at, read=False))
                del kept[:-KEPT]
                self.watchers.wake(event.user_id)

    async def tell(self, user: int = 1, order: int = 1, status: OrderStatus = OrderStatus.CONFIRMED) -> None:
        """Notifies a customer of a change of an order."""
        await self.add([Event(len(self._known) + 1, order, user, status, WHEN)])

    async def newest(self, user_id: int) -> list[Notification]:
        return [] if user_id in self._gone else self._of_user[user_id][::-1]

    async def mark_read(self, user_id: int, up_to: int) -> int:
        kept = [replace(one, read=one.read or one.position <= up_to) for one in self._of_user[user_id]]
        self._of_user[user_id] = kept
        return sum(not one.read for one in kept)

    async def last_position(self, user_id: int) -> int | None:
        return max((one.position for one in await self.newest(user_id)), default=None)

    async def behind(self, user_id: int, position: int, limit: int) -> list[Notification]:
        if user_id in self._gone:
            raise no_such("user", user_id, "user_id")
        return [one for one in self._of_user[user_id] if one.position > position][:limit]
