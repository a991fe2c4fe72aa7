"""The delay itself, which is never too short."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing

import pytest

from recording.injected_delay import KernelTimer, injected_delays


@pytest.fixture
async def timer() -> AsyncIterator[KernelTimer]:
    with closing(KernelTimer()) as made:
        yield made


async def took_ns(action: Callable[[], Awaitable[None]]) -> int:
    began = time.monotonic_ns()
    await action()
    return time.monotonic_ns() - began


async def test_wakes_each_at_its_own_time_and_never_before(timer: KernelTimer) -> None:
    now = time.monotonic_ns()
    order: list[int] = []

    async def wait(after_us: int) -> None:
        await timer.until(now + after_us * 1_000)
        assert time.monotonic_ns() >= now + after_us * 1_000
        order.append(after_us)

    # The deadline of the last wait has already passed.
    await asyncio.gather(*(wait(after_us) for after_us in (100_000, 500, 3_000, 0)))
    assert len(order) == 4
    assert order[-1] == 100_000


async def test_the_loop_continues_and_a_cancelled_request_is_forgotten(timer: KernelTimer) -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    busy = asyncio.create_task(others())
    given_up = asyncio.create_task(timer.until(time.monotonic_ns() + 5_000_000))
    await asyncio.sleep(0)
    given_up.cancel()
    await timer.until(time.monotonic_ns() + 20_000_000)
    busy.cancel()
    assert given_up.cancelled()
    assert turns > 10


async def test_a_process_delays_only_if_configured() -> None:
    with injected_delays(0, 0, 1) as delays:
        assert delays == ()
    with injected_delays(3_000, 1_000, 1) as delays:
        delay, hold = delays
        assert all(took >= 3_000_000 for took in await asyncio.gather(*(took_ns(delay.pause) for _ in range(20))))
        assert await took_ns(hold.pause) >= 1_000_000
