"""The caller's deadline, carried through everything that a request does.

A server sets it where a request enters. Every wait, such as a statement or a call of another service, takes the
remaining time as its limit, so that work stops once nobody waits for the answer.

A server takes a little less time than its caller waits (`work_s`). If the server is late, the caller gets an error that
says what was late, instead of a broken connection. docs/architecture.md has the time limits of every hop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from types import TracebackType

from shop.errors import DeadlineExceeded

DEADLINE_HEADER = "x-envoy-expected-rq-timeout-ms"
"""The request header with the time that the caller waits, in milliseconds; the name is Envoy's."""

DEFAULT_S = 5.0
"""Time that a caller waits if it does not say how long, in seconds."""

MAX_S = 30.0
"""Longest time that any caller gets, in seconds."""

OVER = "the deadline of the request has passed; allow it more time"

WORK = 0.95
"""Share of the caller's time within which the work should be done."""
END = 0.97
"""Share of the caller's time after which the work is cancelled. Waits have shorter limits, and their errors say more
precisely what was late."""
# The timers of an event loop count milliseconds and may fire a little early.
_EARLY_S = 0.005

_LIMIT: ContextVar[asyncio.Timeout | None] = ContextVar("shop.limit", default=None)
"""The timeout that cancels the work for the caller of the current request; None for no limit."""
_AT: ContextVar[float | None] = ContextVar("shop.deadline", default=None)
"""The deadline of the current request, in seconds of `time.monotonic`; None for no deadline."""


def caller_timeout_s(header: str) -> float:
    """Returns how long a caller waits, in seconds, by `DEADLINE_HEADER`; the default if its value is not usable."""
    if header.isascii() and header.isdigit() and len(header) < 10 and int(header) > 0:
        return int(header) / 1000
    return DEFAULT_S


def work_s(waits: float) -> float:
    """Returns the time limit of the work for a caller, in seconds; the rest is for the answer's way back."""
    return min(waits, MAX_S) * WORK


def remaining() -> float | None:
    """Returns the caller's remaining time, in seconds, or None without a deadline; raises `DeadlineExceeded` at 0."""
    at = _AT.get()
    if at is None:
        return None
    left = at - time.monotonic()
    if left <= 0:
        raise DeadlineExceeded(OVER)
    return left


def passed() -> bool:
    """Returns whether the caller has stopped waiting."""
    at = _AT.get()
    return at is not None and at <= time.monotonic() + _EARLY_S


def own_deadline(seconds: float) -> AbstractContextManager[None]:
    """Replaces the caller's deadline with another one, for work that must not be left half done."""
    return _until(time.monotonic() + seconds)


def deadline(seconds: float) -> AbstractContextManager[None]:
    """Sets a deadline for everything inside the context; an earlier deadline stays in force."""
    at, outer = time.monotonic() + seconds, _AT.get()
    return _until(at if outer is None else min(at, outer))


def end() -> None:
    """Cancels the work for the caller of the current request, who no longer waits."""
    limit = _LIMIT.get()
    if limit is not None and not limit.expired():
        limit.reschedule(asyncio.get_running_loop().time())


def begin(seconds: float | None) -> None:
    """Begins the next part of a long-lived answer: its limit from now, in seconds; None while nothing is to be sent."""
    _AT.set(None if seconds is None else time.monotonic() + seconds)


def lift() -> None:
    """Removes the caller's deadline from the current request: its answer lasts until either side ends it."""
    limit = _LIMIT.get()
    if limit is not None:
        limit.reschedule(None)
    _AT.set(None)


@contextmanager
def _until(at: float) -> Iterator[None]:
    outer = _AT.set(at)
    try:
        yield
    finally:
        _AT.reset(outer)


class CallerLimit:
    """Limits the work for a caller to `waits` seconds, or the longest time: sets the deadline, and cancels late work.

    Work that was cancelled, or waited in vain until its deadline, raises `DeadlineExceeded`.
    """

    __slots__ = ("_allowed", "_limit", "_outer")

    def __init__(self, waits: float | None) -> None:
        self._allowed = MAX_S if waits is None else min(waits, MAX_S)

    async def __aenter__(self) -> None:
        at, outer = time.monotonic() + self._allowed * WORK, _AT.get()
        self._outer = _AT.set(at if outer is None else min(at, outer))
        self._limit = asyncio.timeout(self._allowed * END)
        await self._limit.__aenter__()
        _LIMIT.set(self._limit)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        is_over = passed()
        try:
            await self._limit.__aexit__(kind, error, stack)
        except TimeoutError:
            # The error gets no cause, which would be logged: if many requests are late, a cause explains none of them.
            raise DeadlineExceeded(OVER) from None
        finally:
            _AT.reset(self._outer)
        if isinstance(error, TimeoutError) and (is_over or self._limit.expired()):
            raise DeadlineExceeded(OVER) from error
