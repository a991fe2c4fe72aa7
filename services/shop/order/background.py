"""Work that continues after its caller has gone."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Background:
    """The tasks that outlive their callers, so that the process can wait for them before it ends."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    async def shield(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs work that continues even if the caller is cancelled meanwhile."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return await asyncio.shield(task)

    async def drain(self, seconds: float) -> None:
        """Waits for all work to end; cancels the rest when the time is up, and leaves it to recovery."""
        if not self._tasks:
            return
        _, late = await asyncio.wait(self._tasks, timeout=seconds)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=1)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            # The exception is retrieved here, as perhaps no caller is left: asyncio would report it as never retrieved.
            task.exception()
