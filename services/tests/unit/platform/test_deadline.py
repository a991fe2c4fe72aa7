"""Deadlines: the remaining time, which only ever gets shorter."""

from __future__ import annotations

import asyncio
import time

import pytest

from shop.errors import DeadlineExceeded
from shop.platform.deadline import MAX_S, CallerLimit, caller_timeout_s, deadline, end, passed, remaining, work_s


def test_the_remaining_time_shrinks_and_ends_with_the_context() -> None:
    with deadline(10):
        first, second = remaining(), remaining()
        assert 9 < second <= first <= 10
    assert remaining() is None
    assert not passed()


@pytest.mark.parametrize(("outer", "inner"), [(1, 100), (100, 1)])
def test_inner_deadline_never_outlives_the_outer_one(outer: float, inner: float) -> None:
    with deadline(outer), deadline(inner):
        assert remaining() <= 1


def test_passed_deadline_raises() -> None:
    with deadline(0):
        assert passed()
        with pytest.raises(DeadlineExceeded):
            remaining()


async def test_concurrent_tasks_have_separate_deadlines() -> None:
    async def time_left(seconds: float) -> float:
        with deadline(seconds):
            await asyncio.sleep(0.01)
            return remaining()

    short, long = await asyncio.gather(time_left(1), time_left(100))
    assert short < 1 < 99 < long


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("5000", 5.0), ("1", 0.001), ("", 5.0), ("0", 5.0), ("-1", 5.0), ("1.5", 5.0), ("٣", 5.0), ("9" * 5000, 5.0)],
)
def test_caller_that_says_nothing_sensible_waits_as_long_as_the_default(header: str, seconds: float) -> None:
    assert caller_timeout_s(header) == seconds


def test_work_is_always_shorter_than_the_wait_for_it() -> None:
    for waits in (0.01, 0.5, 5.0, 30.0, 10_000.0):
        assert 0 < work_s(waits) < min(waits, MAX_S)
    # Three hops behind the edge, each of which leaves time for its answer.
    assert work_s(work_s(work_s(5.0))) < 4.3


async def test_work_beyond_the_callers_deadline_is_ended() -> None:
    with pytest.raises(DeadlineExceeded, match="allow it more time"):
        async with CallerLimit(0.1):
            await asyncio.sleep(30)


async def test_a_caller_may_go_away_while_its_deadline_passes() -> None:
    async def go_away() -> None:
        await asyncio.sleep(0.2)
        end()

    async def work() -> None:
        async with CallerLimit(0.4):
            going.append(asyncio.create_task(go_away()))
            asyncio.get_running_loop().call_later(0.1, time.sleep, 0.5)  # afterwards, both timers are due
            await asyncio.sleep(30)

    going: list[asyncio.Task[None]] = []
    with pytest.raises(DeadlineExceeded):
        await work()
    await going[0]


async def test_waiting_in_vain_until_the_deadline_is_the_deadline() -> None:
    with pytest.raises(DeadlineExceeded, match="allow it more time"):
        async with CallerLimit(0.1), asyncio.timeout(remaining()):
            await asyncio.sleep(30)


async def test_other_limits_of_work_for_a_caller_are_its_own() -> None:
    with pytest.raises(TimeoutError):
        async with CallerLimit(20), asyncio.timeout(0.01):
            await asyncio.sleep(30)


async def test_a_callers_limit_lasts_no_longer_than_the_one_around_it() -> None:
    async with CallerLimit(1), CallerLimit(20):
        assert remaining() <= 1
    assert remaining() is None


async def test_cancellation_from_outside_stays_one() -> None:
    async def work() -> None:
        async with CallerLimit(20):
            await asyncio.sleep(30)

    task = asyncio.create_task(work())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
