"""Refuses requests early when a process cannot keep up, so that the admitted ones are answered in time.

The signal is the event loop's delay: how late it runs a callback that is due. As in CoDel (RFC 8289), the minimum of
each interval counts: a queue that sometimes empties was a burst, and a queue that never empties means overload. The
share of admitted requests follows that delay. This also works without admission control at the edge
(`mesh.edge.admission`).

Requests may say how urgent they are (RFC 9218). Checkouts are still admitted at up to twice the delay, and requests
that continue something already begun at up to three times the delay. Calls from inside are always admitted, since the
work already done for them would be lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from shop.errors import TooManyRequests, Unavailable
from shop.platform.config import ServiceConfig

PRIORITY, UNDER_WAY, CHECKOUT = "priority", "u=0", "u=1"
DELAY_S = 0.015
"""How late the loop may constantly be before new requests are refused; it then handles about ten requests at a time."""
CHECKOUT_TIMES, UNDER_WAY_TIMES = 2, 3
LOOK_S, LOOKS = 0.02, 10
"""Pause between two measurements of the loop's delay, and number of measurements per interval."""
MIN_SHARE, MAX_FALL, RISE = 0.02, 0.5, 1.1
"""The smallest admitted share, which probes for the end of an overload; the smallest factor by which the share falls in
an interval, and the factor by which it rises."""

MAX_HASHES = 4
"""Number of passwords that a gateway lets the user service hash at a time. Even if answers are slow, this is half of
the requests that the edge admits to the gateway at a time."""


class Slots:
    """A limit on concurrent work of one kind; work beyond the limit is refused at once."""

    def __init__(self, size: int, refusal: str) -> None:
        self._free = size
        self._refusal = refusal

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Takes a slot for as long as the context lasts; raises `TooManyRequests` if no slot is free."""
        if not self._free:
            # Proxies do not count this error as a failure of the instance.
            raise TooManyRequests(self._refusal, retry_after_s=1)
        self._free -= 1
        try:
            yield
        finally:
            self._free += 1


class LimitedLock(asyncio.Lock):
    """A lock for which few tasks may wait, because each occupies one of the edge's connections to the process.

    Attributes:
        places: Slots of the tasks that wait for the lock or hold it; a task takes one first.
    """

    def __init__(self, size: int, refusal: str) -> None:
        super().__init__()
        self.places = Slots(size, refusal)


class Share:
    """The share of requests that is admitted; `delay_s` is how late the loop may be throughout an interval."""

    def __init__(self, delay_s: float) -> None:
        self.value = 1.0
        self._delay_s = delay_s
        self._credit = 0.0

    def follow(self, min_delay_s: float) -> None:
        """Adapts the share to an interval in which the smallest delay was `min_delay_s` seconds."""
        if min_delay_s > self._delay_s:
            self.value = max(MIN_SHARE, self.value * max(MAX_FALL, self._delay_s / min_delay_s))
        else:
            self.value = min(1.0, self.value * RISE)

    def take(self) -> bool:
        self._credit += self.value
        if self._credit < 1.0:
            return False
        self._credit -= 1.0
        return True


class Admission:
    """The admission control of a process."""

    def __init__(self) -> None:
        times = (1, CHECKOUT_TIMES, UNDER_WAY_TIMES)
        self.new, self.checkouts, self.under_way = (Share(each * DELAY_S) for each in times)
        self.hashes = Slots(MAX_HASHES, "too many passwords are being hashed; try again in a second")
        self._urgent: dict[str | bytes | None, Share] = {}
        for value, share in ((CHECKOUT, self.checkouts), (UNDER_WAY, self.under_way)):
            self._urgent[value] = self._urgent[value.encode()] = share

    def admit(self, priority: str | bytes | None) -> None:
        """Admits or refuses a request from outside. Raises `Unavailable` if there are too many."""
        if not self._urgent.get(priority, self.new).take():
            raise Unavailable("there are too many requests at the moment; try again a little later")

    async def look(self) -> None:
        """Measures the loop's delay until it is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            min_s = float("inf")
            for _ in range(LOOKS):
                due = loop.time() + LOOK_S
                await asyncio.sleep(LOOK_S)
                min_s = min(min_s, loop.time() - due)
            for share in (self.new, self.checkouts, self.under_way):
                share.follow(min_s)


@asynccontextmanager
async def admission(config: ServiceConfig) -> AsyncIterator[Admission | None]:
    """Yields the admission control for as long as the context lasts; None if the configuration turns it off."""
    if not config.admission:
        yield None
        return
    limit = Admission()
    looking = asyncio.create_task(limit.look())
    try:
        yield limit
    finally:
        looking.cancel()
