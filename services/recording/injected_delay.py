"""A delay of known size before the work of every request that this process serves, to prove the measurement.

The proof makes a component slower by a known time, and the figures must say which component and by how much. The delay
lies inside the request's SERVER span and outside all other spans, so that a trace shows it as the component's own work.

Sleeps of an event loop are too coarse: uvloop's timers count whole milliseconds, and `asyncio.sleep(0.0005)` returns at
once. A kernel timer (timerfd) wakes the loop within about 0.03 to 0.1 ms and costs no thread. So the timer wakes the
loop a little early, and the request then yields to others until its time has come.
"""

from __future__ import annotations

import asyncio
import ctypes
import heapq
import os
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

from opentelemetry import trace

ASKED_ATTRIBUTE = "shop.injected_delay_ms"
TOOK_ATTRIBUTE = "shop.injected_delay_took_ms"

EARLY_NS = 100_000
"""Upper bound of the time that waking the loop usually takes."""
_ABSOLUTE = 1  # TFD_TIMER_ABSTIME
_NS = 1_000_000_000


class KernelTimer:
    """One timerfd for all requests, set to the earliest of their deadlines (timerfd_create(2)).

    Create it on an event loop, which then reads the timer. Python has a function for timerfd only since 3.13, so this
    class calls the C library.
    """

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create failed")
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._made = 0
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._fd, self._woken)

    async def until(self, deadline_ns: int) -> None:
        """Returns at a time of the monotonic clock, or as soon after it as possible; never before it."""
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._made += 1
        heapq.heappush(self._waiting, (deadline_ns, self._made, waiter))
        if self._waiting[0][2] is waiter:
            self._set(deadline_ns)
        await waiter

    def close(self) -> None:
        if not self._loop.is_closed():
            self._loop.remove_reader(self._fd)
        os.close(self._fd)

    def _woken(self) -> None:
        # Reading the timer would return how often it fired and clear that count; setting the timer again clears it too.
        while self._waiting and self._waiting[0][0] <= time.monotonic_ns():
            waiter = heapq.heappop(self._waiting)[2]
            if not waiter.done():  # a cancelled request no longer waits
                waiter.set_result(None)
        self._set(self._waiting[0][0] if self._waiting else 0)

    def _set(self, deadline_ns: int) -> None:
        """Sets the timer to a time; 0 turns it off."""
        setting = struct.pack("qqqq", 0, 0, *divmod(deadline_ns, _NS))
        if self._libc.timerfd_settime(self._fd, _ABSOLUTE, setting, None) < 0:
            raise OSError(ctypes.get_errno(), "timerfd_settime failed")


class InjectedDelay:
    """Delays requests by a fixed time."""

    def __init__(self, delay_us: int) -> None:
        self._delay_us = delay_us
        self._timer: KernelTimer | None = None

    async def pause(self) -> None:
        """Waits for the delay, counted from this call, and records its actual length on the current span."""
        began_ns = time.monotonic_ns()
        if self._timer is None:
            self._timer = KernelTimer()
        deadline_ns = began_ns + self._delay_us * 1_000
        await self._timer.until(deadline_ns - EARLY_NS)
        while time.monotonic_ns() < deadline_ns:  # noqa: ASYNC110 - there is no event at that time
            await asyncio.sleep(0)
        _record(self._delay_us, time.monotonic_ns() - began_ns)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.close()
            self._timer = None


class InjectedHold:
    """Blocks the event loop for a fixed time at every Nth request (`every`); all other requests wait meanwhile."""

    def __init__(self, hold_us: int, every: int) -> None:
        self._hold_us = hold_us
        self._every = every
        self._requests = 0

    async def pause(self) -> None:
        """Counts a request, and blocks if it is the Nth; records on the current span for how long."""
        self._requests += 1
        if self._requests % self._every:
            return
        began_ns = time.monotonic_ns()
        while (took_ns := time.monotonic_ns() - began_ns) < self._hold_us * 1_000:
            pass
        _record(self._hold_us, took_ns)


def _record(asked_us: int, took_ns: int) -> None:
    span = trace.get_current_span()
    if span.is_recording():
        span.set_attribute(ASKED_ATTRIBUTE, asked_us / 1_000)
        span.set_attribute(TOOK_ATTRIBUTE, took_ns / 1_000_000)


@contextmanager
def injected_delays(delay_us: int, hold_us: int, hold_every: int) -> Iterator[tuple[InjectedDelay | InjectedHold, ...]]:
    """Yields the delays of every request that this process serves; 0 us of delay or of blocking make none."""
    with ExitStack() as stack:
        delays: list[InjectedDelay | InjectedHold] = []
        if delay_us:
            delays.append(stack.enter_context(closing(InjectedDelay(delay_us))))
        if hold_us:
            delays.append(InjectedHold(hold_us, hold_every))
        yield tuple(delays)
