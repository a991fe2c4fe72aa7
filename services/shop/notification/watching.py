"""Those who wait for a customer's news: each holds a position only, and reads what is behind it once there is any.

What is not read yet waits in the database, so that a slow reader costs no memory, and it makes no difference whether a
stream goes on here or at another replica.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager

from shop.notification.domain import begin_behind
from shop.notification.ports import NotificationStore
from shop.platform.telemetry.events import NOT_TRACED, EventTraces
from shop.values.notification import Update

SILENCE_S = 15.0
"""After so long without news a stream says that it is still open: proxies end those that are silent for longer."""
AT_ONCE = 100
"""Notifications that are read at once."""


class Watchers:
    """All who wait at this process.

    Args:
        silence_s: After how long without news a stream says that it is still open, in seconds.
    """

    def __init__(
        self, store: NotificationStore, traces: EventTraces = NOT_TRACED, *, silence_s: float = SILENCE_S
    ) -> None:
        self._store = store
        self._traces = traces
        self._silence_s = silence_s
        self._waiting: defaultdict[int, set[asyncio.Event]] = defaultdict(set)

    @property
    def count(self) -> int:
        """How many streams are open."""
        return sum(map(len, self._waiting.values()))

    def wake(self, user_id: int | None = None) -> None:
        """Has those look who wait for a customer's news, or all if nobody knows whose there are."""
        for_whom = self._waiting if user_id is None else (user_id,)
        for one in for_whom:
            for news in self._waiting.get(one, ()):
                news.set()

    async def watch(self, user_id: int, after: int | None, order_id: int | None = None) -> AsyncGenerator[Update]:
        """Tells what happens to a customer's orders, or to one of them, until it is closed.

        Args:
            after: Position behind which to begin, at least 0; None for what happens from now on.
            order_id: The order; None for all.

        Raises:
            InvalidArgument: There is no such position.
            NotFound: The customer's account is gone.
            PositionGone: What comes behind the position is not kept any more.
            Unavailable: The database does not answer.
        """
        # Before the first look, so that nothing comes in between.
        with self._waits(user_id) as news:
            position = begin_behind(after, await self._store.last_position(user_id) or 0)
            yield Update(None, position)
            while True:
                news.clear()
                told = await self._store.behind(user_id, position, AT_ONCE)
                for notification in told:
                    position = notification.position
                    if order_id in (None, notification.order_id):
                        start_ns = time.time_ns()
                        yield Update(notification, position)
                        self._traces.pushed(notification.traceparent, start_ns)
                if len(told) < AT_ONCE:
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
