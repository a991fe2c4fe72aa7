"""Delivers the events in the outbox: at least once, and in order within each order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress

from msgspec.structs import replace
from tenacity import AsyncRetrying, RetryCallState, wait_random_exponential

from shop.contract.ports import NotificationClient
from shop.order.ports import Outbox
from shop.platform.deadline import own_deadline
from shop.platform.telemetry.events import NOT_TRACED, EventTraces
from shop.values.notification import Event
from shop.values.order import OrderStatus

log = logging.getLogger(__name__)

MAX_EVENTS, MAX_STATUSES = 100, 4
"""Maximum number of events per call, which the notification service accepts, and of events of one order."""
ORDERS = MAX_EVENTS // MAX_STATUSES
"""Maximum number of orders per transaction: one call takes all their events. If its answer is lost, they are delivered
again, and the notification service, which still has all of them, stores none twice."""
QUEUE = "shop_order.outbox"
DELIVER_LIMIT_S = 5.0
FIRST_PAUSE_S, MAX_PAUSE_S = 0.05, 1.0
GATHER_S = 0.002
"""Pause before the relay takes events, in seconds: the call that has changed an order is about to be answered, and
the delivery should not compete with it."""
CONFIRMED_WITHIN_S = 0.02
"""How long the event of a placed order waits for the order's checkout to confirm it, in seconds. Both events are then
delivered together, and there is no delivery while the checkout settles."""
LOOK_S = 5.0
"""How often the relay looks for events without a signal, in seconds: another process may have died before delivery."""


class Relay:
    """Takes events out of the outbox and delivers them to the notification service."""

    def __init__(
        self,
        outbox: Outbox,
        notification: NotificationClient,
        traces: EventTraces = NOT_TRACED,
        *,
        look_s: float = LOOK_S,
    ) -> None:
        self._outbox = outbox
        self._notification = notification
        self._traces = traces
        self._look_s = look_s
        self._woken = asyncio.Event()
        self._later: asyncio.TimerHandle | None = None

    def wake(self, status: str | None = None) -> None:
        """Makes the relay look for events, a little later if the orders have only reached PENDING."""
        if status != OrderStatus.PENDING:
            self._woken.set()
        elif self._later is None:
            self._later = asyncio.get_running_loop().call_later(CONFIRMED_WITHIN_S, self._woken.set)

    async def run(self) -> None:
        """Delivers events until it is cancelled; no failure ends it."""
        persistently = AsyncRetrying(
            wait=wait_random_exponential(multiplier=FIRST_PAUSE_S, max=MAX_PAUSE_S), before_sleep=_warn
        )
        while True:
            await asyncio.sleep(GATHER_S)
            self._woken.clear()
            if self._later is not None:
                self._later.cancel()
                self._later = None
            await persistently(self._deliver_all)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._look_s):
                    await self._woken.wait()

    async def deliver(self) -> int:
        """Delivers the events of the oldest orders that no other process has taken; returns the number of events.

        Raises:
            ShopError: The database or the notification service does not answer; all events are still in the outbox.
        """
        with own_deadline(DELIVER_LIMIT_S):
            async with self._outbox.lend(ORDERS) as events:
                if events:
                    await self._notify(events)
        return len(events)

    async def _deliver_all(self) -> None:
        # Fewer events mean fewer orders, so none are left; code that adds an event later calls `wake`.
        while await self.deliver() >= ORDERS:
            pass

    async def _notify(self, events: Sequence[Event]) -> None:
        sent = self._traces.record_send
        followed = [replace(event, traceparent=sent(QUEUE, event.traceparent, event.happened_at)) for event in events]
        with self._traces.work_for([event.traceparent for event in followed], "deliver"):
            await self._notification.notify(followed)


def _warn(failed: RetryCallState) -> None:
    error = failed.outcome and failed.outcome.exception()
    log.warning("events of orders could not be delivered yet: %s", error)
