"""The caller's deadline, carried through everything that a request does.

A server sets it where a request comes in; whatever waits (a statement, a call to another service) takes the time
that remains as its limit, so that work stops when nobody waits for the answer any more.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from shop.errors import DeadlineExceeded

DEADLINE: ContextVar[float | None] = ContextVar("shop.deadline", default=None)
"""The moment at which the caller stops waiting, in seconds of `time.monotonic`; None for no deadline."""


def remaining() -> float | None:
    """Returns the time that is left, in seconds.

    Returns:
        More than zero; None if the caller set no deadline.

    Raises:
        DeadlineExceeded: No time is left.
    """
    at = DEADLINE.get()
    if at is None:
        return None
    left = at - time.monotonic()
    if left <= 0:
        raise DeadlineExceeded("the deadline of the request has passed; allow it more time")
    return left


def passed() -> bool:
    """Whether the caller has stopped waiting."""
    at = DEADLINE.get()
    return at is not None and at <= time.monotonic()


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Limits everything inside to some seconds; an earlier deadline that is set already stays in force.

    Args:
        seconds: Time from now.
    """
    at = time.monotonic() + seconds
    outer = DEADLINE.get()
    token = DEADLINE.set(at if outer is None else min(at, outer))
    try:
        yield
    finally:
        DEADLINE.reset(token)
