"""When the event loop was at work without a rest: requests that came meanwhile have waited for it.

A server sees a request when it gets to reading it, not when it arrives. So it says at that moment when its loop had
been busy; what of that came after the caller had begun to call was spent waiting behind other work. The loop tells
nobody when it rests. But where its thread has used the CPU for all of the time between two events, it has not; and
otherwise what it has done was done just before the second one, since what follows an answer or a call is short.
"""

from __future__ import annotations

import time

from opentelemetry.trace import Span

BUSY, RESTED = "shop.loop.busy_ms", "shop.loop.rested_ms"
"""Attributes of a SERVER span, as of its start, and of a CLIENT span, as of its end: how long the loop was busy, and
how long ago that had ended; none if nobody can have waited for it."""
_MIN_NS = 1_000_000
_OWN_NS = 4_000_000
"""What comes first after a rest has kept the loop busy itself: it was read and parsed before anybody knew of it. Beyond
this, something else was done before it that nobody had announced."""
_ON_ITS_WAY_NS = 5_000_000
"""A call goes through gRPC's own thread, and back to the loop, more than once before its handler begins. So one that
came while the loop was busy is seen after a rest or two."""
_OFF_NS = 50_000
"""Time off the CPU between two events that is no rest: turns of the loop itself, short interruptions."""


class LoopAccount:
    """Account of the loop that calls it. Costs two looks at clocks for each event."""

    def __init__(self) -> None:
        self._since_ns = self._noted_ns = time.monotonic_ns()
        self._noted_cpu_ns = time.thread_time_ns()
        self._last = 0, 0

    def busy(self) -> tuple[int, int] | None:
        """How long the loop was busy, and how long ago that ended, ns, if it can have kept others waiting until now.

        To be asked at each event: a request comes in or is answered, a call goes out or its answer is read.
        """
        now_ns, cpu_ns = time.monotonic_ns(), time.thread_time_ns()
        worked_ns = cpu_ns - self._noted_cpu_ns
        off_ns = now_ns - self._noted_ns - worked_ns
        self._noted_ns, self._noted_cpu_ns = now_ns, cpu_ns
        # Long work that others interrupted has lost the CPU for as long as it had it, at most.
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
    """Notes on spans how long the event loop had been busy, from the first traced request of the process on."""

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
