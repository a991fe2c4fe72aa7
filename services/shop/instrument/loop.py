"""When the event loop was at work without a rest: whoever came meanwhile has waited for it.

A server sees a request when it gets to reading it, not when it arrives. So it says at that moment when its loop had
been busy; what of that came after the caller had begun to call was spent waiting behind other work. The loop tells
nobody when it rests. But between two events in which its thread has used the CPU all the time, it has not; and a
callback that is called soon, again and again, and finds each time that next to no time has passed, has come to the end
of all that was to be done. That is looked for where the work was long; what was short ended with its last event.
"""

from __future__ import annotations

import asyncio
import time

BUSY, RESTED = "shop.loop.busy_ms", "shop.loop.rested_ms"
"""Attributes of a SERVER span, as of its start, and of a CLIENT span, as of its end: how long the loop was busy, and
how long ago that had ended; none if nobody can have waited for it."""
_LEAST_NS = 1_000_000
_OWN_NS = 4_000_000
"""What comes first after a rest has kept the loop busy itself: it was read and parsed before anybody knew of it. Beyond
this, something else was done before it that nobody had announced."""
_ON_ITS_WAY_NS = 5_000_000
"""A call goes through gRPC's own thread, and back to the loop, more than once before its handler begins. So one that
came while the loop was busy is seen after a rest or two."""
_OFF_NS = 50_000
"""Time off the CPU between two events that is no rest: turns of the loop itself, short interruptions."""
_NOTHING_NS = 15_000
"""Time of a turn of the loop in which nothing was done but looking; it takes 2 to 3 µs."""
_TURNS = 3
"""Turns in which nothing was done until the loop counts as at rest: what one turn reads, a later one handles."""
_MOST_TURNS = 20
"""Turns after which it counts as at rest anyway: where even looking takes longer, it must not go on looking."""


class LoopAccount:
    """Account of the loop that calls it: a look at two clocks per event, and a few turns after each long stretch."""

    def __init__(self) -> None:
        self._last = 0, 0
        self._rested()

    def busy(self) -> tuple[int, int] | None:
        """How long the loop was busy, and how long ago that ended, ns, if it can have kept others waiting until now.

        To be asked whenever a request comes in or is answered, and whenever a call goes out or its answer is read.
        """
        now_ns, least_ns = time.monotonic_ns(), _LEAST_NS
        if self._looking:
            self._idle_turns = self._turns = 0
        elif self._has_rested(now_ns):
            least_ns = _OWN_NS
        busy_ns = now_ns - self._since_ns
        began_ns, ended_ns = self._last
        if not self._looking and busy_ns >= _LEAST_NS:
            self._last = self._since_ns, now_ns
            if busy_ns >= _OWN_NS:
                self._looking = True
                self._looked_ns = now_ns
                self._idle_turns = self._turns = 0
                asyncio.get_running_loop().call_soon(self._look)
        if busy_ns >= least_ns:
            return busy_ns, 0
        return (ended_ns - began_ns, now_ns - ended_ns) if now_ns - ended_ns < _ON_ITS_WAY_NS else None

    def _has_rested(self, now_ns: int) -> bool:
        """Whether the loop rested since the last event; then what it has done was done just before this one."""
        cpu_ns = time.thread_time_ns()
        worked_ns = cpu_ns - self._noted_cpu_ns
        off_ns = now_ns - self._noted_ns - worked_ns
        self._noted_ns, self._noted_cpu_ns = now_ns, cpu_ns
        # Long work that others interrupted has lost the CPU for as long as it had it, at most.
        if off_ns <= _OFF_NS or worked_ns >= max(_OWN_NS, off_ns):
            return False
        self._since_ns = now_ns - worked_ns
        return True

    def _look(self) -> None:
        now_ns = time.monotonic_ns()
        self._idle_turns = self._idle_turns + 1 if now_ns - self._looked_ns < _NOTHING_NS else 0
        self._looked_ns = now_ns
        self._turns += 1
        if self._idle_turns < _TURNS and self._turns < _MOST_TURNS:
            asyncio.get_running_loop().call_soon(self._look)
            return
        self._last = self._since_ns, now_ns
        self._rested()

    def _rested(self) -> None:
        self._looking = False
        self._since_ns = self._noted_ns = time.monotonic_ns()
        self._noted_cpu_ns = time.thread_time_ns()
