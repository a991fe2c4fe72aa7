"""Refuses requests where a process does not keep up, before it has worked for them, so that the others are in time.

What tells is how late the event loop comes to what is ready. As in CoDel (RFC 8289), the least delay of an interval
counts: a queue that empties now and then was a burst, one that never does is too much. The share of requests that is
let in then follows that delay. So it holds behind an edge, too, that has nothing of the kind (`mesh.edge.admission`).

Requests may say how urgent they are (RFC 9218): checkouts are let in until the delay is twice as long, what belongs to
something under way until it is three times as long, and calls from inside always, since what has been done for them
would be lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from shop.errors import TooManyRequests, Unavailable
from shop.platform.config import ServiceConfig

PRIORITY, UNDER_WAY, CHECKOUT = "priority", "u=0", "u=1"
DELAY_S = 0.015
"""How late the loop may be all the time while new requests are let in: some ten of them are at work then."""
CHECKOUT_TIMES, UNDER_WAY_TIMES = 2, 3
LOOK_S, LOOKS = 0.02, 10
"""Pause between two looks at the loop, and looks of an interval."""
MIN_SHARE, MAX_FALL, RISE = 0.02, 0.5, 1.1
"""The smallest share that is let in, to see whether it is over; by what it falls in an interval at most, and rises."""


MAX_HASHES = 4
"""Passwords that a gateway has hashed at a time: half of what the edge admits to it however long answers take."""


class Slots:
    """A bound on the work of one kind: what exceeds it is refused at once."""

    def __init__(self, size: int, refusal: str) -> None:
        self._free = size
        self._refusal = refusal

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Takes a slot for as long as the context lasts.

        Raises:
            TooManyRequests: There is no free one. Proxies do not take it for a failure of the instance.
        """
        if not self._free:
            raise TooManyRequests(self._refusal, retry_after_s=1)
        self._free -= 1
        try:
            yield
        finally:
            self._free += 1


class Share:
    """The share of requests that is let in.

    Args:
        delay_s: How late the loop may be for all of an interval, in seconds.
    """

    def __init__(self, delay_s: float) -> None:
        self.value = 1.0
        self._delay_s = delay_s
        self._credit = 0.0

    def follow(self, least_delay_s: float) -> None:
        """Adapts the share to an interval in which the loop was never less late than that, in seconds."""
        if least_delay_s > self._delay_s:
            self.value = max(MIN_SHARE, self.value * max(MAX_FALL, self._delay_s / least_delay_s))
        else:
            self.value = min(1.0, self.value * RISE)

    def take(self) -> bool:
        """Whether to let the next request in."""
        self._credit += self.value
        if self._credit < 1.0:
            return False
        self._credit -= 1.0
        return True


class Admission:
    """What a process lets in."""

    def __init__(self) -> None:
        times = (1, CHECKOUT_TIMES, UNDER_WAY_TIMES)
        self.new, self.checkouts, self.under_way = (Share(each * DELAY_S) for each in times)
        self.hashes = Slots(MAX_HASHES, "too many passwords are being hashed; try again in a second")
        self._urgent: dict[str | bytes | None, Share] = {}
        for value, share in ((CHECKOUT, self.checkouts), (UNDER_WAY, self.under_way)):
            self._urgent[value] = self._urgent[value.encode()] = share

    def admit(self, priority: str | bytes | None) -> None:
        """Lets a request from outside in, or refuses it. Raises `Unavailable` if there are too many."""
        if not self._urgent.get(priority, self.new).take():
            raise Unavailable("there are too many requests at the moment; come again a little later")

    async def look(self) -> None:
        """Looks at the loop until it is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            least_s = float("inf")
            for _ in range(LOOKS):
                due = loop.time() + LOOK_S
                await asyncio.sleep(LOOK_S)
                least_s = min(least_s, loop.time() - due)
            for share in (self.new, self.checkouts, self.under_way):
                share.follow(least_s)


@asynccontextmanager
async def admission(config: ServiceConfig) -> AsyncIterator[Admission | None]:
    """Gives what refuses too many requests for as long as the context lasts, if the configuration asks for it."""
    if not config.admission:
        yield None
        return
    limit = Admission()
    looking = asyncio.create_task(limit.look())
    try:
        yield limit
    finally:
        looking.cancel()
