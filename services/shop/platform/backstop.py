"""Ends the work for a caller when its time is up, whatever the work still waits for.

`asyncio.timeout` does the same with a timer for each use, which on uvloop costs several times what all the rest of a
deadline does. Nearly all work ends in time; so here one timer of the event loop stands for everything under way, set to
the earliest limit, and is set anew only when it goes off.
"""

from __future__ import annotations

import asyncio
import math
import time
from types import TracebackType
from typing import ClassVar

from shop.errors import DeadlineExceeded
from shop.platform.deadline import AFTER_WORK, DEADLINE, OVER, passed, work_s

TICK_S = 0.01
"""The longest delay between the time that was asked for and the cancellation, in seconds."""


class Backstop:
    """A context manager that cancels its task after some time, which raises a TimeoutError.

    Args:
        seconds: Time limit from the entry, in seconds; infinity for none.
    """

    __slots__ = ("_fired", "_seconds", "_task", "_watch", "at")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        self._watch_from(time.monotonic())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watch.under_way.discard(self)
        if self._fired and self._task.uncancel() <= 0 and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def end(self) -> bool:
        """Cancels the task, unless one inside it has just done so and may answer for that; returns whether it did."""
        if self._task.cancelling():
            return False
        self._fired = True
        self._task.cancel()
        return True

    def _watch_from(self, now: float) -> None:
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        if task is None:
            raise RuntimeError("a backstop can be used inside a task only")
        self._task = task
        self._fired = False
        self._watch = watch = _Watch.of_loop.get(loop) or _Watch(loop)
        self.at = at = now + self._seconds
        watch.under_way.add(self)
        if at < watch.looks_at:
            watch.look_at(at)


class CallerLimit(Backstop):
    """Limits the work for a caller to the time that it waits: sets its deadline, and ends what goes on beyond it.

    One context manager rather than two, as every request is inside it.

    Args:
        waits: How long the caller waits, in seconds.

    Raises:
        DeadlineExceeded: The work was ended, or waited in vain until its deadline.
    """

    __slots__ = ("_outer", "_work_s")

    def __init__(self, waits: float) -> None:
        self._work_s = work_s(waits)
        self._seconds = self._work_s * AFTER_WORK

    def __enter__(self) -> None:
        now = time.monotonic()
        self._watch_from(now)
        at = now + self._work_s
        outer = DEADLINE.get()
        self._outer = DEADLINE.set(at if outer is None or at < outer else outer)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and not self._fired:
            self._watch.under_way.discard(self)
            DEADLINE.reset(self._outer)
            return
        try:
            super().__exit__(kind, error, trace)
            if kind is not None and issubclass(kind, TimeoutError) and passed():
                raise TimeoutError
        except TimeoutError:
            raise DeadlineExceeded(OVER) from error
        finally:
            DEADLINE.reset(self._outer)


class _Watch:
    """The work under way on an event loop.

    Args:
        loop: The loop.

    Attributes:
        under_way: All backstops that work is inside of.
        looks_at: When it next looks for those that are late, in seconds of `time.monotonic`; infinity for never.
    """

    of_loop: ClassVar[dict[asyncio.AbstractEventLoop, _Watch]] = {}

    __slots__ = ("_loop", "_timer", "looks_at", "under_way")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None
        self.under_way: set[Backstop] = set()
        self.looks_at = math.inf
        self.of_loop[loop] = self

    def look_at(self, at: float) -> None:
        """Looks at a time, or up to a tick after it, for what is late."""
        if self._timer is not None:
            self._timer.cancel()
        self.looks_at = at
        # The loop's own clock is the same, but may stand at the start of the current turn.
        self._timer = self._loop.call_at(math.ceil(at / TICK_S) * TICK_S, self._look)

    def _look(self) -> None:
        now = time.monotonic()
        for late in sorted((one for one in self.under_way if one.at <= now), key=lambda one: one.at):
            if late.end():
                self.under_way.discard(late)
            else:
                late.at = now + TICK_S
        self._timer, self.looks_at = None, math.inf
        earliest = min((one.at for one in self.under_way), default=math.inf)
        if earliest < math.inf:
            self.look_at(earliest)
