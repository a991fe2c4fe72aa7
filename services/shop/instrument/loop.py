"""Since when the event loop has been at work without a rest: whoever came meanwhile has waited for it.

A server sees a request when it gets to reading it, not when it arrives. So it says at that moment how long the thread of its loop
had been busy; the part of that which lies behind the caller's start of the call was spent waiting behind other work. The thread's own
account says it: as long as it never gave up its processor (no voluntary context switch) it had something to do, and where it did
at some moment, it was busy for at most the CPU time that it used since the account was last read.
"""

from __future__ import annotations

import resource
import time

BUSY = "shop.loop.busy_ms"
"""Attribute of a SERVER span, up to its start, and of a CLIENT span, up to its end."""
LEAST_NS = 500_000
"""Shorter stretches are the request's own arrival: its bytes are read and parsed before anybody knows of it."""
_SHORT_REST_NS = 200_000
"""A wait for the interpreter's lock is a voluntary switch too, and no rest."""


class LoopAccount:
    """Account of the thread that reads it, which is the event loop's."""

    def __init__(self) -> None:
        self._read_ns = self._since_ns = time.monotonic_ns()
        self._cpu_s, self._rests = _usage()

    def busy_ns(self) -> int:
        """How long the loop has been busy by now, ns; the more often it is asked, the more exactly it knows."""
        now_ns = time.monotonic_ns()
        cpu_s, rests = _usage()
        worked_ns = int((cpu_s - self._cpu_s) * 1e9)
        if rests != self._rests and now_ns - self._read_ns - worked_ns > _SHORT_REST_NS:
            self._since_ns = now_ns - worked_ns
        self._read_ns, self._cpu_s, self._rests = now_ns, cpu_s, rests
        return now_ns - self._since_ns


def _usage() -> tuple[float, int]:
    usage = resource.getrusage(resource.RUSAGE_THREAD)
    return usage.ru_utime + usage.ru_stime, usage.ru_nvcsw
