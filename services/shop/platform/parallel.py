"""Runs independent calls in parallel."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

A = TypeVar("A")
B = TypeVar("B")


async def both(first: Coroutine[Any, Any, A], second: Coroutine[Any, Any, B]) -> tuple[A, B]:
    """Runs two calls in parallel and returns both results.

    The second call runs as a separate task, and the first in the caller's task. If one fails, the other is cancelled
    and awaited, and the first failure is raised directly, not in a group.
    """
    task = asyncio.create_task(second)
    try:
        left = await first
    except BaseException:
        await _stop(task)
        raise
    return left, await task


async def _stop(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.exception()  # marks it as retrieved: the caller gets the other call's failure
