"""The delay itself, with the kernel's timer and with threads; it is never too short."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable

import pytest

from recording.injected_delay import InjectedDelay, KernelTimer, ThreadTimer, injected_delays

TIMERS = [
    pytest.param(KernelTimer, marks=pytest.mark.skipif(sys.platform != "linux", reason="Linux has timerfd")),
    ThreadTimer,
]


async def took_ns(action: Callable[[], Awaitable[None]]) -> int:
    began = time.monotonic_ns()
    await action()
    return time.monotonic_ns() - began


@pytest.mark.parametrize("timer", TIMERS)
async def test_wakes_each_at_its_own_time_and_never_before(timer: type[KernelTimer | ThreadTimer]) -> None:
    made = timer()
    now = time.monotonic_ns()
    order: list[int] = []

    async def wait(after_us: int) -> None:
        await made.until(now + after_us * 1_000)
        assert time.monotonic_ns() >= now + after_us * 1_000
        order.append(after_us)

    try:
        # The deadline of the last wait has already passed.
        await asyncio.gather(*(wait(after_us) for after_us in (600_000, 500, 3_000, 0)))
    finally:
        made.close()
    assert len(order) == 4
    assert order[-1] == 600_000


@pytest.mark.parametrize("timer", TIMERS)
async def test_the_loop_continues_and_a_cancelled_request_is_forgotten(timer: type[KernelTimer | ThreadTimer]) -> None:
    made = timer()
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    busy = asyncio.create_task(others())
    given_up = asyncio.create_task(made.until(time.monotonic_ns() + 5_000_000))
    await asyncio.sleep(0)
    given_up.cancel()
    await made.until(time.monotonic_ns() + 20_000_000)
    busy.cancel()
    made.close()
    assert given_up.cancelled()
    assert turns > 10


@pytest.mark.parametrize("kernel", [True, False])
async def test_every_pause_takes_at_least_its_time(kernel: bool) -> None:
    delay = InjectedDelay(500, kernel=kernel)
    try:
        assert all(took >= 500_000 for took in await asyncio.gather(*(took_ns(delay.pause) for _ in range(20))))
    finally:
        delay.close()


async def test_a_process_delays_only_if_configured() -> None:
    with injected_delays(0, 0, 1) as delays:
        assert delays == ()
    with injected_delays(3_000, 1_000, 1) as delays:
        delay, hold = delays
        assert await took_ns(delay.pause) >= 3_000_000
        assert await took_ns(hold.pause) >= 1_000_000
