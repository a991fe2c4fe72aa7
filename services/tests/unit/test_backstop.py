"""Work is ended at its time, and nothing else is."""

from __future__ import annotations

import asyncio

import pytest

from shop.platform.backstop import TICK_S, Backstop


async def test_work_that_takes_too_long_is_ended() -> None:
    began = asyncio.get_running_loop().time()
    with pytest.raises(TimeoutError), Backstop(0.1):
        await asyncio.sleep(30)
    assert 0.09 < asyncio.get_running_loop().time() - began < 20
    # The task itself goes on.
    await asyncio.sleep(0)


async def test_work_that_ends_in_time_is_left_alone() -> None:
    with Backstop(0.02):
        await asyncio.sleep(0)
    await asyncio.sleep(2 * TICK_S + 0.05)


async def test_tasks_of_one_moment_end_together_and_others_do_not() -> None:
    async def work(seconds: float) -> str:
        try:
            with Backstop(seconds):
                await asyncio.sleep(0.5)
        except TimeoutError:
            return "ended"
        return "done"

    assert await asyncio.gather(*(work(at) for at in (0.1, 20, 0.1, 20))) == ["ended", "done", "ended", "done"]


async def test_cancellation_from_outside_stays_one() -> None:
    async def work() -> None:
        with Backstop(20):
            await asyncio.sleep(30)

    task = asyncio.create_task(work())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_inner_backstop_ends_first() -> None:
    with Backstop(20):
        with pytest.raises(TimeoutError), Backstop(0.05):
            await asyncio.sleep(30)
        await asyncio.sleep(0)


async def test_error_of_the_work_is_raised_as_it_is() -> None:
    with pytest.raises(ValueError, match="no"), Backstop(20):
        raise ValueError("no")
