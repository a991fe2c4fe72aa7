from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from experiment.commands.preflight import speed_sentences
from experiment.results.manifest import machine
from experiment.trial.machine_speed import MAX_FURTHER, REPETITIONS, machine_speed, usual_speed

ROUNDS = 1_000


@pytest.fixture(autouse=True)
def _short_pieces_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiment.trial.machine_speed.ROUNDS", ROUNDS)


def taking(durations_ns: Iterable[int]) -> Callable[[], int]:
    """Makes a clock according to which the repetitions take these times."""
    edges = (edge for duration in durations_ns for edge in (0, duration))
    return lambda: next(edges)


def test_speed_is_the_work_per_microsecond() -> None:
    assert machine_speed(clock=taking(itertools.repeat(2_000_000))) == pytest.approx(ROUNDS / 2_000)
    assert machine_speed(clock=taking(itertools.repeat(4_000_000))) == pytest.approx(ROUNDS / 4_000)


def test_a_disturbed_moment_does_not_count() -> None:
    usual = [2_000_000] * (REPETITIONS - 2)
    assert machine_speed(clock=taking([90_000_000, *usual, 70_000_000])) == pytest.approx(ROUNDS / 2_000)


def test_a_speed_that_changes_all_the_time_is_measured_for_longer() -> None:
    pauses: list[float] = []
    fast_and_slow = itertools.cycle([1_500_000, 3_000_000, 3_000_000])
    speed = machine_speed(60, taking(fast_and_slow), pauses.append)
    assert len(pauses) == MAX_FURTHER
    # Of 54 repetitions that count, 12 are fast.
    assert speed == pytest.approx((12 * ROUNDS / 1_500 + 42 * ROUNDS / 3_000) / 54)
    for load_s, further in ((0, 0), (2, 6), (10, 30)):
        pauses.clear()
        machine_speed(load_s, taking(fast_and_slow), pauses.append)
        assert len(pauses) == further


def test_it_measures_the_machine_itself() -> None:
    assert machine_speed() > 0


def keep(results: Path, name: str, here: dict[str, object], *speeds: float) -> None:
    """Writes a finished run whose trials had these speeds."""
    (results / name).mkdir()
    trials = [{"used": True, "machine_speed": speed} for speed in speeds] + [{"used": False, "machine_speed": 1.0}]
    (results / name / "trials.json").write_text(json.dumps({"trials": trials}))
    (results / name / "manifest.json").write_text(json.dumps({"machine": here}))


def test_kept_runs_on_this_machine_give_the_usual_speed(tmp_path: Path) -> None:
    assert usual_speed(tmp_path) is None
    assert "usual speed is unknown" in next(speed_sentences(tmp_path))
    keep(tmp_path, "20260101T000000Z-compare", machine(), 1.0, 2.0)
    keep(tmp_path, "20260102T000000Z-compare", machine(), 3.0)
    keep(tmp_path, "20260103T000000Z-compare", machine() | {"cpu": "another"}, 9.0)
    (tmp_path / "20260104T000000Z-bench").mkdir()
    (tmp_path / "20260104T000000Z-bench" / "trials.json").write_text("{}")
    assert usual_speed(tmp_path) == (2.0, 3)
    assert "faster than usual" in next(speed_sentences(tmp_path))
