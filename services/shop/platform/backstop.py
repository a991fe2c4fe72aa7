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
from typing import Any, ClassVar

from shop.errors import DeadlineExceeded
from shop.platform.deadline import DEADLINE, END, LONGEST_S, OVER, WORK, passed

TICK_S = 0.01
"""The longest delay between the time that was asked for and the cancellation, in seconds."""


class _Work:
    """Work of the current task that is ended at a time.

    Attributes:
        task: The task.
        ends_at: When it is ended, in seconds of `time.monotonic`.
        ended: Whether it was.
    """

    __slots__ = ("_watch", "ended", "ends_at", "task")

    task: asyncio.Task[Any] | None
    ends_at: float
    ended: bool

    def end(self) -> bool:
        """Cancels the task, unless one inside it has just done so and may answer for that; returns whether it did."""
        assert self.task is not None, "work is watched from its beginning on"
        if self.task.cancelling():
            return False
        self.ended = True
        self.task.cancel()
        return True

    def begin(self, ends_at: float) -> None:
        """Has the event loop end the current task at a time."""
        loop = asyncio.get_running_loop()
        self.task = asyncio.current_task(loop)
        if self.task is None:
            raise RuntimeError("a backstop can be used inside a task only")
        self.ended = False
        self.ends_at = ends_at
        self._watch = watch = _Watch.of_loop.get(loop) or _Watch(loop)
        watch.under_way.add(self)
        if ends_at < watch.looks_at:
            watch.look_at(ends_at)

    def _is_cancelled(self, kind: type[BaseException] | None) -> bool:
        """Ends the watch; returns whether the error that the work ends with is the cancellation by it."""
        self._watch.under_way.discard(self)
        assert self.task is not None, "work is watched from its beginning on"
        return self.ended and self.task.uncancel() <= 0 and kind is asyncio.CancelledError


class Backstop(_Work):
    """A context manager that cancels its task after some time, which raises a TimeoutError.

    Args:
        seconds: Time limit from the entry, in seconds; infinity for none.
    """

    __slots__ = ("_seconds",)

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        self.begin(time.monotonic() + self._seconds)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_cancelled(kind):
            raise TimeoutError from error


class CallerLimit(_Work):
    """Limits the work for a caller to the time that it waits: sets its deadline, and ends what goes on beyond it.

    One context manager rather than two, as every request is inside it.

    Args:
        waits: How long the caller waits, in seconds; None if it does not say.

    Attributes:
        at: The deadline, in seconds of `time.monotonic`.

    Raises:
        DeadlineExceeded: The work was ended, or waited in vain until its deadline.
    """

    __slots__ = ("_late", "_outer", "_waits", "at")

    def __init__(self, waits: float | None) -> None:
        self._waits = LONGEST_S if waits is None or waits > LONGEST_S else waits
        self._late = OVER

    def __enter__(self) -> None:
        now, waits = time.monotonic(), self._waits
        self.at = at = now + waits * WORK
        self.begin(now + waits * END)
        outer = DEADLINE.get()
        self._outer = DEADLINE.set(self if outer is None or at < outer.at else outer)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and not self.ended:
            self._watch.under_way.discard(self)
            DEADLINE.reset(self._outer)
            return
        late = self._is_cancelled(kind) or (kind is not None and issubclass(kind, TimeoutError) and passed())
        DEADLINE.reset(self._outer)
        if late:
            raise DeadlineExceeded(self._late) from error

    def was_late(self, what: str) -> bool:
        """Is told by what the work waited for that the work has been cancelled; returns whether this limit did it.

        Args:
            what: What to say if it did.
        """
        if self.ended:
            self._late = what
        return self.ended


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
        self.under_way: set[_Work] = set()
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
        for late in sorted((one for one in self.under_way if one.ends_at <= now), key=lambda one: one.ends_at):
            if late.end():
                self.under_way.discard(late)
            else:
                late.ends_at = now + TICK_S
        self._timer, self.looks_at = None, math.inf
        earliest = min((one.ends_at for one in self.under_way), default=math.inf)
        if earliest < math.inf:
            self.look_at(earliest)
