"""Ends the work for a caller when its time is up, whatever the work still waits for.

`asyncio.timeout` does the same with a timer for each use, which on uvloop costs several times what all the rest of a
deadline does; here one timer serves all requests of the same moment.
"""

from __future__ import annotations

import asyncio
import math
from types import TracebackType
from typing import ClassVar

TICK_S = 0.01
"""The longest delay between the time that was asked for and the cancellation, in seconds."""


class Backstop:
    """A context manager that cancels its task after some time, which raises a TimeoutError.

    Args:
        seconds: Time limit from the entry, in seconds.
    """

    __slots__ = ("_bucket", "_fired", "_seconds", "_task")

    _buckets: ClassVar[dict[tuple[asyncio.AbstractEventLoop, int], set[Backstop]]] = {}

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._fired = False

    def __enter__(self) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a backstop can be used inside a task only")
        self._task = task
        loop = task.get_loop()
        key = loop, math.ceil((loop.time() + self._seconds) / TICK_S)
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = set()
            loop.call_at(key[1] * TICK_S, self._end, key)
        bucket.add(self)
        self._bucket = bucket

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bucket.discard(self)
        if self._fired and self._task.uncancel() <= 0 and kind is asyncio.CancelledError:
            raise TimeoutError from error

    @classmethod
    def _end(cls, key: tuple[asyncio.AbstractEventLoop, int]) -> None:
        for one in cls._buckets.pop(key):
            one._fired = True
            one._task.cancel()
