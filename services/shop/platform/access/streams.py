"""Limits on long-lived answers: how many a process keeps open, how fast callers open them, and when each must end."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from typing import TypeVar, cast

from shop.errors import DeadlineExceeded, TooManyRequests, Unauthenticated, Unavailable
from shop.platform.access.jwt import EXPIRED
from shop.platform.access.rules import Caller, current_caller
from shop.platform.rates import Rates

T = TypeVar("T")

MAX_PER_CUSTOMER, MAX_PER_PARTNER = 20, 200
"""Maximum number of streams, or of WebSockets, that one caller may have open at one process."""
MAX_PER_PROCESS = 8_000
"""Maximum number of streams, or of WebSockets, for all callers; a proxy allows more, so that our error is seen."""
BURSTS, REOPEN_S = 2, 20.0
"""A caller may open twice its maximum at once, and as many again every 20 seconds."""
MAX_OPENING = 4
"""Number of streams that a process opens at a time, so that reads do not wait behind thousands of openings."""
MAX_WAIT_S = 3.0
"""How long a stream waits for the process to open it, in seconds; after that, its client has to try again."""
MAX_START_S = 10.0
"""How long a stream may take to yield its first item, in seconds: longer than it waits for other processes."""
_END = object()


class Quota:
    """Counts open streams or WebSockets, for each caller and in total; `kind` says which, in the plural."""

    def __init__(self, kind: str) -> None:
        self.count = 0
        self._kind = kind
        self._openings = Rates(REOPEN_S)
        self._of_caller: Counter[str] = Counter()

    @contextmanager
    def hold(self, caller: Caller) -> Iterator[None]:
        """Counts one more stream or WebSocket until the context ends.

        A call from inside counts only towards the process's limit, as its gateway has counted its own caller. Raises
        `TooManyRequests` if the caller has too many open, or opens them too fast. Raises `Unavailable` if the process
        has too many open.
        """
        if self.count >= MAX_PER_PROCESS:
            raise Unavailable(f"this process has {self.count} {self._kind} open, its limit; try again later")
        principal = caller.principal
        subject = "" if principal is None else principal.subject
        if principal is not None:
            limit = MAX_PER_PARTNER if principal.kind == "partner" else MAX_PER_CUSTOMER
            if self._of_caller[subject] >= limit:
                raise TooManyRequests(f"{subject} has {limit} {self._kind} open, the limit; close one of them")
            self._openings.check(subject, BURSTS * limit, f"{subject} opens {self._kind} too fast")
            self._openings.count(subject, BURSTS * limit)
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
        self._opening = asyncio.Semaphore(MAX_OPENING)
        self._limits: set[asyncio.Timeout] = set()
        self._closed = False

    def close(self) -> None:
        """Ends all open streams, and each later stream as soon as it opens, so that the process can stop."""
        self._closed = True
        now = asyncio.get_running_loop().time()
        for limit in self._limits:
            if not limit.expired():
                limit.reschedule(now)

    def hold(self, stream: AsyncGenerator[T], caller: Caller | None = None) -> AsyncGenerator[T]:
        """Returns a stream for the caller, by default the current one, until the token expires or the process stops.

        The stream raises `TooManyRequests` if the caller has too many open or opens them too fast, or too many are
        being opened. It raises `Unauthenticated` once the token has expired, and `Unavailable` if the process has too
        many open, or is stopping. It raises `DeadlineExceeded` if its first item takes too long.
        """
        return self._run(stream, current_caller() if caller is None else caller)

    async def _run(self, stream: AsyncGenerator[T], caller: Caller) -> AsyncGenerator[T]:
        expires = expiry(caller)
        async with aclosing(stream):
            with self._quota.hold(caller):
                item = await self._first(stream, expires)
                while item is not _END:
                    yield cast(T, item)
                    item = await self._next(stream, expires)

    async def _first(self, stream: AsyncGenerator[T], expires: float | None) -> object:
        """Waits until one more stream may be opened, and opens it."""
        try:
            async with asyncio.timeout(MAX_WAIT_S):
                await self._opening.acquire()
        except TimeoutError as error:
            # Not UNAVAILABLE, which would make a proxy eject this instance.
            raise TooManyRequests("too many streams are being opened; try again in 1 s", retry_after_s=1) from error
        try:
            async with asyncio.timeout(MAX_START_S):
                return await self._next(stream, expires)
        except TimeoutError as error:
            raise DeadlineExceeded("the stream did not begin in time; open it again") from error
        finally:
            self._opening.release()

    async def _next(self, stream: AsyncGenerator[T], expires: float | None) -> object:
        if not self._closed:
            try:
                async with asyncio.timeout_at(expires) as limit:
                    self._limits.add(limit)
                    try:
                        return await anext(stream, _END)
                    finally:
                        self._limits.discard(limit)
            except TimeoutError as error:
                if not self._closed:
                    if expires is not None and asyncio.get_running_loop().time() >= expires:
                        raise Unauthenticated(EXPIRED) from error
                    raise
        raise Unavailable("this process is stopping; continue after the last position")


def expiry(caller: Caller) -> float | None:
    """Returns when a caller's token expires, in seconds of the event loop's clock; None if there is no token."""
    if caller.principal is None:
        return None
    return asyncio.get_running_loop().time() + caller.principal.expires - time.time()
