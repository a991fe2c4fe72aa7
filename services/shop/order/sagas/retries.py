"""How long and how often the sagas retry their calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from shop.order.checkout_states import uncertain

T = TypeVar("T")

FORWARD_LIMIT_S = 10.0
"""Seconds that all forward steps of a checkout may take together; a caller's deadline may be earlier."""
FINISH_LIMIT_S = 8.0
"""Seconds that a process may spend on settling, undoing or cancelling, regardless of the caller's deadline; recovery
does the rest."""
LEASE_S = 20.0
"""Seconds of a lease, more than the two limits above together: a process that lets its lease run out has died, or has
lost the database."""
ATTEMPTS = 4
FIRST_PAUSE_S, MAX_PAUSE_S = 0.05, 0.5
MAX_BACKOFF_S = 30.0


async def with_retries(call: Callable[[], Awaitable[T]]) -> T:
    """Makes a call that may be repeated, until it succeeds; raises `ShopError` if refused, or if all attempts fail."""
    attempts = AsyncRetrying(
        stop=stop_after_attempt(ATTEMPTS),
        wait=wait_random_exponential(multiplier=FIRST_PAUSE_S, max=MAX_PAUSE_S),
        # A cancellation is not a failed attempt: it ends the retries.
        retry=retry_if_exception(lambda error: isinstance(error, Exception) and uncertain(error)),
        reraise=True,
    )
    async for attempt in attempts:
        with attempt:
            return await call()
    raise AssertionError("the last attempt raises")


async def all_with_retries(*calls: Callable[[], Awaitable[object]]) -> None:
    """Makes calls in parallel, as `with_retries` does; after all of them have ended, raises the first failure."""
    outcomes = await asyncio.gather(*(with_retries(call) for call in calls), return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome


def backoff(epoch: int) -> float:
    """Returns the pause in seconds before the next attempt to finish a saga; each takeover, from 1, doubles it."""
    return float(min(MAX_BACKOFF_S, 0.5 * 2.0 ** min(epoch, 10)))
