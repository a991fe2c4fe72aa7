from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from serialisation.rounds import DECODE, ENCODE, Cell, Lap, Subject, measure_rounds


def cells(take: Callable[[str, float], float]) -> list[Cell]:
    subjects = [Subject("Python", "none", name, "login") for name in "abcdef"]
    return [
        Cell(subject, operation, lambda lap_s, name=subject.encoding + operation: take(name, lap_s))  # type: ignore[misc]
        for subject in subjects
        for operation in (ENCODE, DECODE)
    ]


def test_each_round_has_every_cell_once_in_its_own_order() -> None:
    seen: list[str] = []

    def take(name: str, _lap_s: float) -> float:
        seen.append(name)
        return 1.0

    measure_rounds(cells(take), rounds=4, seconds=60, seed=1, say=print)
    rounds = [tuple(seen[start : start + 12]) for start in range(0, len(seen), 12)]
    assert len(rounds) == 5  # the first warms up
    assert all(sorted(one) == sorted(rounds[0]) for one in rounds)
    assert len(set(rounds)) == 5


def test_the_interval_is_students_over_the_counted_rounds() -> None:
    figures = iter([1000.0, 1.0, 2.0, 3.0])
    (row,) = measure_rounds(cells(lambda *_: next(figures))[:1], rounds=3, seconds=60, seed=1, say=print)
    # t with 2 degrees of freedom is 4.303; the standard error of 1, 2, 3 is 0.577.
    assert row.us == pytest.approx(2)
    assert (row.low, row.high) == pytest.approx((-0.484, 4.484), abs=1e-3)


def test_later_rounds_are_left_out_when_time_runs_out() -> None:
    output: list[str] = []
    clock = count(step=30)
    (row, *_) = measure_rounds(
        cells(lambda *_: 1.0), rounds=50, seconds=10, seed=1, say=output.append, now=lambda: float(next(clock))
    )
    assert output[1:] == [*(f"round {number} of 50" for number in (1, 2, 3)), "out of time after 3 of 50 rounds"]
    assert row.us == 1


def test_a_lap_calls_the_function_with_its_argument() -> None:
    given: list[str] = []
    lap = Lap(lambda text: given.append(text), "answer")
    lap(0.0001)
    warm = len(given)
    lap(0.0001)
    assert set(given) == {"answer"}
    assert len(given) > warm
