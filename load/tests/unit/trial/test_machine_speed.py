"""The probe of the machine's speed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import pytest

from experiment.trial.machine_speed import REPETITIONS, ROUNDS, machine_speed


def taking(durations_ns: Iterable[int]) -> Callable[[], int]:
    """A clock by which the repetitions take these times."""
    edges = (edge for duration in durations_ns for edge in (0, duration))
    return lambda: next(edges)


def test_it_is_the_work_done_in_a_microsecond() -> None:
    assert machine_speed(taking(itertools.repeat(2_000_000))) == pytest.approx(ROUNDS / 2_000)
    assert machine_speed(taking(itertools.repeat(4_000_000))) == pytest.approx(ROUNDS / 4_000)


def test_a_moment_in_which_the_machine_did_something_else_does_not_count() -> None:
    usual = [2_000_000] * (REPETITIONS - 2)
    assert machine_speed(taking([90_000_000, *usual, 70_000_000])) == pytest.approx(ROUNDS / 2_000)


def test_it_measures_the_machine_itself() -> None:
    assert machine_speed() > 0
