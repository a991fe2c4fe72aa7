"""Delivers what is in the outbox: at least once, and one after the other within each order."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace

from tenacity import AsyncRetrying, RetryCallState, wait_random_exponential

from shop.clients.ports import NotificationClient
from shop.order.ports import Outbox
from shop.platform.deadline import own_deadline
from shop.platform.telemetry.events import sent, work_for

log = logging.getLogger(__name__)

BATCH = 100
QUEUE = "shop_order.outbox"
DELIVER_LIMIT_S = 5.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 1.0
GATHER_S = 0.005
"""Pause before the relay takes events, in seconds: the checkout that has placed an order is about to confirm it, and
should not share this process and the database's log with the delivery of its own first event."""
LOOK_S = 5.0
"""Pause after which the relay looks by itself: another process may have died with events that it had taken."""


class Relay:
    """Takes events out of the outbox and delivers them to the notification service.

    Args:
        outbox: The events.
        notification: Whom they are delivered to.
        look_s: After how long without a call to `wake` it looks by itself, in seconds.
    """

    def __init__(self, outbox: Outbox, notification: NotificationClient, *, look_s: float = LOOK_S) -> None:
        self._outbox = outbox
        self._notification = notification
        self._look_s = look_s
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Has the relay look for events."""
        self._woken.set()

    async def run(self) -> None:
        """Delivers until it is cancelled; no failure ends it."""
        persistently = AsyncRetrying(
            wait=wait_random_exponential(multiplier=FIRST_PAUSE_S, max=LONGEST_PAUSE_S), before_sleep=_warn
        )
        while True:
            await asyncio.sleep(GATHER_S)
            self._woken.clear()
            await persistently(self._deliver_all)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._look_s):
                    await self._woken.wait()

    async def deliver(self) -> int:
        """Delivers the oldest event of each order that has any and that no other process is at.

        Returns:
            How many events were delivered.

        Raises:
            ShopError: The database or the notification service does not answer; all events are still there.
        """
        with own_deadline(DELIVER_LIMIT_S):
            async with self._outbox.taken(BATCH) as events:
                if events:
                    followed = [
                        replace(event, traceparent=sent(QUEUE, event.traceparent, event.happened_at))
                        for event in events
                    ]
                    # One call for all: it belongs to the first trace.
                    first = next((event.traceparent for event in followed if event.traceparent), "")
                    with work_for(first, "deliver"):
                        await self._notification.notify(followed)
        return len(events)

    async def _deliver_all(self) -> None:
        while await self.deliver():
            pass


def _warn(failed: RetryCallState) -> None:
    error = failed.outcome and failed.outcome.exception()
    log.warning("events of orders could not be delivered yet: %s", error)
