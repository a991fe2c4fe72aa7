"""Records when the event loop worked without a pause: requests that arrived meanwhile had to wait for the loop.

A server notices a request when it reads the request, not when the request arrives. It then records how long its loop
had been busy. The part of that time after the caller began its call is how long the request waited behind other work.
The loop does not signal its pauses. But if the loop's thread used the CPU for all of the time between two events, there
was no pause. Otherwise all work came just before the second event, since little work follows an answer or a call.
"""

from __future__ import annotations

import time

from opentelemetry.trace import Span

BUSY, RESTED = "shop.loop.busy_ms", "shop.loop.rested_ms"
"""Attributes of a SERVER span, as of its start, and of a CLIENT span, as of its end. They say how long the loop had
been busy, and how long ago that busy time ended. They are absent if nothing can have waited for the loop."""
_MIN_NS = 1_000_000
_OWN_NS = 4_000_000
"""The first event after a pause keeps the loop busy itself, because it is read and parsed before anything records it.
If the loop was busy for longer than this, it did other work before the event, which no earlier event had announced."""
_ON_ITS_WAY_NS = 5_000_000
"""A call passes through gRPC's own thread, and back to the loop, more than once before its handler begins. So a call
that arrives while the loop is busy is noticed only after a pause or two."""
_OFF_NS = 50_000
"""Time off the CPU between two events that does not count as a pause: turns of the loop itself, short
interruptions."""


class LoopAccount:
    """The account of the loop that calls it. It reads two clocks for each event."""

    def __init__(self) -> None:
        self._since_ns = self._noted_ns = time.monotonic_ns()
        self._noted_cpu_ns = time.thread_time_ns()
        self._last = 0, 0

    def busy(self) -> tuple[int, int] | None:
        """Returns how long the loop was busy, and how long ago that ended, in ns; None if nothing can have waited.

        Call it at each event: a request arrives or is answered, a call goes out or its answer is read.
        """
        now_ns, cpu_ns = time.monotonic_ns(), time.thread_time_ns()
        worked_ns = cpu_ns - self._noted_cpu_ns
        off_ns = now_ns - self._noted_ns - worked_ns
        self._noted_ns, self._noted_cpu_ns = now_ns, cpu_ns
        # Long work that other threads interrupt is off the CPU for at most as long as it is on the CPU.
        rested = off_ns > _OFF_NS and worked_ns < max(_OWN_NS, off_ns)
        if rested:
            self._since_ns = now_ns - worked_ns
        busy_ns = now_ns - self._since_ns
        began_ns, ended_ns = self._last
        before_ns = ended_ns - began_ns if now_ns - ended_ns < _ON_ITS_WAY_NS else 0
        if busy_ns >= max(_MIN_NS, before_ns):
            self._last = self._since_ns, now_ns
            if busy_ns >= _OWN_NS or not rested:
                return busy_ns, 0
        return (before_ns, now_ns - ended_ns) if before_ns else None


class LoopNotes:
    """Records on spans how long the event loop had been busy, from the first traced request of the process on."""

    def __init__(self) -> None:
        self._account: LoopAccount | None = None

    def note_moment(self, span: Span | None) -> None:
        if self._account is None:
            if span is None:  # a run without traces has no account of its loops
                return
            self._account = LoopAccount()
        busy = self._account.busy()
        if span is not None and busy is not None:
            span.set_attribute(BUSY, busy[0] / 1_000_000)
            span.set_attribute(RESTED, busy[1] / 1_000_000)
