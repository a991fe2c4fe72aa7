"""Deadlines: what is left, and that they only ever get shorter."""

from __future__ import annotations

import asyncio

import pytest

from shop.errors import DeadlineExceeded
from shop.platform.deadline import LONGEST_S, caller_timeout_s, deadline, passed, remaining, work_s


def test_without_a_deadline_there_is_no_limit() -> None:
    assert remaining() is None
    assert not passed()


def test_what_remains_shrinks_and_ends_with_the_context() -> None:
    with deadline(10):
        first = remaining()
        second = remaining()
        assert first is not None
        assert second is not None
        assert 9 < second <= first <= 10
    assert remaining() is None


def test_inner_deadline_never_outlives_the_outer_one() -> None:
    with deadline(1), deadline(100):
        left = remaining()
        assert left is not None
        assert left <= 1
    with deadline(100), deadline(1):
        left = remaining()
        assert left is not None
        assert left <= 1


def test_passed_deadline_raises() -> None:
    with deadline(0):
        assert passed()
        with pytest.raises(DeadlineExceeded):
            remaining()


async def test_tasks_at_once_have_deadlines_of_their_own() -> None:
    async def left(seconds: float) -> float:
        with deadline(seconds):
            await asyncio.sleep(0.01)
            rest = remaining()
            assert rest is not None
            return rest

    short, long = await asyncio.gather(left(1), left(100))
    assert short < 1 < 99 < long


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("5000", 5.0), ("1", 0.001), ("", 5.0), ("0", 5.0), ("-1", 5.0), ("1.5", 5.0), ("٣", 5.0), ("9" * 5000, 5.0)],
)
def test_caller_that_says_nothing_sensible_waits_as_long_as_the_default(header: str, seconds: float) -> None:
    assert caller_timeout_s(header) == seconds


def test_work_is_always_shorter_than_the_wait_for_it() -> None:
    for waits in (0.01, 0.5, 5.0, 30.0, 10_000.0):
        assert 0 < work_s(waits) < min(waits, LONGEST_S)
    # Three hops behind the edge, each leaves time for its answer.
    assert work_s(work_s(work_s(5.0))) < 4.3
