from __future__ import annotations

import pytest

from experiment.errors import UsageError
from experiment.plan.closed_loop import MAX_TAPE_RATE, ClosedLoop, describe_loops, parse_closed_loop
from hops.conclusions.wording import loop_text


@pytest.mark.parametrize("nothing", [None, ""])
def test_without_virtual_users_the_loop_is_open(nothing: str | None) -> None:
    assert parse_closed_loop(vus=nothing, think=nothing, rate="20") is None


@pytest.mark.parametrize(("think", "seconds"), [(None, 0.0), ("", 0.0), ("0s", 0.0), ("1.5s", 1.5), ("10m", 600.0)])
def test_given(think: str | None, seconds: float) -> None:
    assert parse_closed_loop(vus="16", think=think) == ClosedLoop(16, pytest.approx(seconds))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"vus": "0"}, "vus=0 is not valid: give an integer from 1 to 10000"),
        ({"vus": "4", "think": "11m"}, "think=11m is not valid: give a duration from 0s to 10m"),
        ({"think": "100ms"}, "think=100ms needs vus=N"),
        ({"vus": "4", "rate": "20"}, "rate=20 is for an open loop"),
    ],
)
def test_bad_input_is_named_with_what_is_valid(given: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_closed_loop(**{"vus": None, "think": None, **given})


def test_a_tape_outlasts_the_loop_and_stays_small() -> None:
    assert ClosedLoop(4, 0.998).tape_rate > 4
    assert ClosedLoop(1, 2.0).tape_rate > 5, "of 11 s, 5 arrivals must be more than chance allows"
    assert ClosedLoop(10_000, 0.0).tape_rate == MAX_TAPE_RATE


def test_it_reads_as_a_sentence() -> None:
    assert str(ClosedLoop(1, 0.1)) == "closed loop, 1 virtual user, mean think time 0.1 s"


@pytest.mark.parametrize(
    ("loops", "text"),
    [
        ([ClosedLoop(1, 0.1)], "1 virtual user with a mean think time of 0.1 s"),
        ([ClosedLoop(16, 2), ClosedLoop(16, 2)], "16 virtual users with a mean think time of 2 s"),
        ([ClosedLoop(50, 0), ClosedLoop(10, 0)], "10 to 50 virtual users, by arm, with a mean think time of 0 s"),
        ([ClosedLoop(9, 1), ClosedLoop(9, 10)], "9 virtual users with a mean think time of 1 to 10 s, by arm"),
    ],
)
def test_loops_of_several_arms_are_described_by_their_ranges(loops: list[ClosedLoop], text: str) -> None:
    described = describe_loops(loops)
    assert described is not None
    assert loop_text(described) == text


def test_open_loops_have_no_description() -> None:
    assert describe_loops([]) is None
