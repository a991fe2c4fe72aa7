"""Answers that last: how many a process holds open, and when each must end."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from typing import TypeVar

from shop.errors import TooManyRequests, Unauthenticated, Unavailable
from shop.platform.access.jwt import EXPIRED
from shop.platform.access.rules import Caller, current_caller

T = TypeVar("T")

MAX_PER_CUSTOMER, MAX_PER_PARTNER = 20, 200
"""How many streams, or WebSockets, one caller may hold open at one process."""
MAX_PER_PROCESS = 8_000
"""How many all callers may hold open; fewer than a proxy holds to a component, so that the client gets our answer."""


class Quota:
    """Counts what callers hold open, each caller's and all together.

    Args:
        kind: What is counted, in the plural: "streams".

    Attributes:
        count: How many are open.
    """

    def __init__(self, kind: str) -> None:
        self.count = 0
        self._kind = kind
        self._of_caller: Counter[str] = Counter()

    @contextmanager
    def hold(self, caller: Caller) -> Iterator[None]:
        """Counts one more for as long as the context lasts.

        Args:
            caller: The watcher, whatever it watches; a call from inside counts for the process alone, as its gateway
                has counted its caller.

        Raises:
            TooManyRequests: The caller holds too many.
            Unavailable: The process holds too many.
        """
        if self.count >= MAX_PER_PROCESS:
            raise Unavailable(f"this process has {self.count} {self._kind} open, its limit; try again later")
        principal = caller.principal
        subject = "" if principal is None else principal.subject
        if principal is not None:
            limit = MAX_PER_PARTNER if principal.kind == "partner" else MAX_PER_CUSTOMER
            if self._of_caller[subject] >= limit:
                raise TooManyRequests(f"{subject} has {limit} {self._kind} open, the limit; close one of them")
        self.count += 1
        self._of_caller[subject] += 1
        try:
            yield
        finally:
            self.count -= 1
            self._of_caller[subject] -= 1
            if not self._of_caller[subject]:
                del self._of_caller[subject]


class Streams:
    """The streams of a process."""

    def __init__(self) -> None:
        self._quota = Quota("streams")
        self._limits: set[asyncio.Timeout] = set()
        self._closed = False

    def close(self) -> None:
        """Ends all streams, and every later one at once, so that the process can stop."""
        self._closed = True
        now = asyncio.get_running_loop().time()
        for limit in self._limits:
            limit.reschedule(now)

    def hold(self, stream: AsyncGenerator[T], caller: Caller | None = None) -> AsyncGenerator[T]:
        """Returns a stream that ends with the caller's token and with the process.

        Args:
            stream: The stream.
            caller: The watcher; None for the caller of the current call.

        Raises:
            TooManyRequests: The caller has too many streams open.
            Unauthenticated: The caller's token has expired.
            Unavailable: The process has too many streams open, or stops.
        """
        return self._held(stream, current_caller() if caller is None else caller)

    async def _held(self, stream: AsyncGenerator[T], caller: Caller) -> AsyncGenerator[T]:
        loop, expires = asyncio.get_running_loop(), expiry(caller)
        async with aclosing(stream):
            with self._quota.hold(caller):
                while not self._closed:
                    try:
                        async with asyncio.timeout_at(expires) as limit:
                            self._limits.add(limit)
                            try:
                                item = await anext(stream)
                            finally:
                                self._limits.discard(limit)
                    except StopAsyncIteration:
                        return
                    except TimeoutError as error:
                        if self._closed:
                            break
                        if expires is not None and loop.time() >= expires:
                            raise Unauthenticated(EXPIRED) from error
                        raise
                    yield item
                raise Unavailable("this process stops; go on behind the last position")


def expiry(caller: Caller) -> float | None:
    """Returns when a caller's token expires, in seconds of the event loop's clock; None if it has none."""
    if caller.principal is None:
        return None
    return asyncio.get_running_loop().time() + caller.principal.expires - time.time()
