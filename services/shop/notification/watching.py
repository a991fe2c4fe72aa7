"""Watchers of customers' news: each holds only a position, and reads later notifications as they come.

Unread notifications wait in the database, so a slow reader costs no memory. A client can continue its stream at any
replica.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager

from shop.notification.domain import begin_behind, check_gapless
from shop.notification.ports import NotificationStore
from shop.platform.telemetry.events import NOT_TRACED, EventTraces
from shop.values.notification import Update

SILENCE_S = 15.0
"""Seconds of silence after which a stream says that it is still open: proxies end streams that are silent longer."""
AT_ONCE = 100
"""Maximum number of notifications per read."""


class Watchers:
    """All watchers of this process."""

    def __init__(
        self, store: NotificationStore, traces: EventTraces = NOT_TRACED, *, silence_s: float = SILENCE_S
    ) -> None:
        self._store = store
        self._traces = traces
        self._silence_s = silence_s
        self._waiting: defaultdict[int, set[asyncio.Event]] = defaultdict(set)

    @property
    def count(self) -> int:
        return sum(map(len, self._waiting.values()))

    def wake(self, user_id: int | None = None) -> None:
        """Wakes a customer's watchers, or all watchers if it is unknown who has news."""
        for_whom = self._waiting if user_id is None else (user_id,)
        for one in for_whom:
            for news in self._waiting.get(one, ()):
                news.set()

    async def watch(self, user_id: int, after: int | None, order_id: int | None = None) -> AsyncGenerator[Update]:
        """Yields updates about a customer's orders, or about one order, until the generator is closed.

        Args:
            after: Position after which to begin, at least 0; None to begin with new updates.
            order_id: The order; None for all.

        Raises the errors of `begin_behind`, `check_gapless` and of the store.
        """
        # Registered before the first read, so that no update is missed.
        with self._waits(user_id) as news:
            position = begin_behind(after, await self._store.last_position(user_id) or 0)
            yield Update(None, position)
            while True:
                news.clear()
                notifications = await self._store.behind(user_id, position, AT_ONCE)
                check_gapless(position, notifications)
                for notification in notifications:
                    position = notification.position
                    if order_id in (None, notification.order_id):
                        start_ns = time.time_ns()
                        yield Update(notification, position)
                        self._traces.record_push(notification.traceparent, start_ns)
                if len(notifications) < AT_ONCE:
                    while not await self._is_woken(news):
                        yield Update(None, position)

    async def _is_woken(self, news: asyncio.Event) -> bool:
        try:
            async with asyncio.timeout(self._silence_s):
                await news.wait()
        except TimeoutError:
            return False
        return True

    @contextmanager
    def _waits(self, user_id: int) -> Iterator[asyncio.Event]:
        streams = self._waiting[user_id]
        news = asyncio.Event()
        streams.add(news)
        try:
            yield news
        finally:
            streams.discard(news)
            if not streams:
                del self._waiting[user_id]
