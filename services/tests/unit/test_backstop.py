"""Work is ended at its time, and nothing else is."""

from __future__ import annotations

import asyncio
import math
import time

import pytest

from shop.errors import DeadlineExceeded
from shop.platform.backstop import TICK_S, Backstop, CallerLimit
from shop.platform.deadline import remaining


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


async def test_limits_are_kept_in_whichever_order_work_begins() -> None:
    ended: list[float] = []

    async def work(seconds: float) -> None:
        with pytest.raises(TimeoutError), Backstop(seconds):
            await asyncio.sleep(30)
        ended.append(seconds)

    await asyncio.gather(*(work(seconds) for seconds in (0.3, 0.1, 0.2, 0.4)))
    assert ended == [0.1, 0.2, 0.3, 0.4]


async def test_work_without_a_limit_goes_on_beside_work_that_is_ended() -> None:
    with Backstop(math.inf):
        with pytest.raises(TimeoutError), Backstop(0.01):
            await asyncio.sleep(30)
        await asyncio.sleep(0.05)


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


async def busy_until_both_are_late() -> None:
    time.sleep(0.2)  # noqa: ASYNC251 - so that the event loop looks at both at once
    await asyncio.sleep(20)


async def test_of_two_that_come_late_together_the_inner_one_ends_its_work_first() -> None:
    with Backstop(0.05):
        with pytest.raises(TimeoutError), Backstop(0.01):
            await busy_until_both_are_late()
        answered = True
    assert answered


async def test_the_outer_one_still_ends_what_goes_on_after_the_inner_one() -> None:
    async def work() -> None:
        with pytest.raises(TimeoutError), Backstop(0.01):
            await busy_until_both_are_late()
        await asyncio.sleep(20)

    with pytest.raises(TimeoutError), Backstop(0.05):
        await work()


async def test_work_for_a_caller_has_a_deadline() -> None:
    with CallerLimit(0.1):
        left = remaining()
    assert left is not None
    assert left <= 0.1
    assert remaining() is None


async def test_work_for_a_caller_that_goes_on_beyond_its_deadline_is_ended() -> None:
    with pytest.raises(DeadlineExceeded, match="allow it more time"), CallerLimit(0.1):
        await asyncio.sleep(30)


async def test_waiting_in_vain_until_the_deadline_is_the_deadline() -> None:
    with pytest.raises(DeadlineExceeded, match="allow it more time"), CallerLimit(0.1):
        async with asyncio.timeout(remaining()):
            await asyncio.sleep(30)


async def test_other_limits_of_work_for_a_caller_are_its_own() -> None:
    with pytest.raises(TimeoutError), CallerLimit(20):
        async with asyncio.timeout(0.01):
            await asyncio.sleep(30)


async def test_a_callers_limit_lasts_no_longer_than_the_one_around_it() -> None:
    with CallerLimit(1), CallerLimit(20):
        left = remaining()
    assert left is not None
    assert left <= 1
