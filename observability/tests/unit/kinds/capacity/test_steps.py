"""How a step is judged by the rows of its trial, and when an overload is over."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import polars as pl
import pytest

from hops.kinds.capacity.document import Phase, Step
from hops.kinds.capacity.steps import in_peak, most_under_way, recovery_s, seen_in, step_of
from hops.run.documents.trial import TrialRecord

PART_S = 2.0


def make_step(
    phase: Phase = "search", *, ms: float = 20.0, count: int = 800, failed: int = 0, gates: tuple[Any, ...] = ()
) -> Step:
    """Makes a step at 80 journeys a second whose p99 is the given latency."""
    at = np.arange(count) * 12_500_000
    rows = pl.DataFrame(
        {
            "intended_ns": at, "started_ns": at, "ended_ns": at + int(ms * 1e6),
            "latency_ns": np.full(count, int(ms * 1e6)), "outcome": ["server"] * failed + ["ok"] * (count - failed),
        }
    )  # fmt: skip
    record = {
        "topology": "rest-1", "gates": gates, "cpu_s": {"client": 1.0, "order": 6.0, "postgres": 2.0},
        "generator": {"wall_s": 10.0, "connections": 4}, "memory_peak_mb": 600.0,
    }  # fmt: skip
    load = {"sending": {"rate": 80.0, "closed": None, "duration_s": 10.0, "steps": []}}
    return step_of("rest", phase, cast("TrialRecord", record), rows, load, 100.0)


def gate(name: str) -> dict[str, Any]:
    return {"name": name, "value": 1.0, "limit": 0.0, "ok": False}


def test_a_step_says_what_its_trial_used() -> None:
    step = make_step()
    assert step["cores"] == pytest.approx({"total": 0.8, "generator": 0.1, "services": 0.6, "database": 0.2})
    assert (step["label"], step["rate"], step["users"], step["connections"]) == ("rest-1", 80.0, None, 4)
    assert step["throughput_per_s"] == pytest.approx(79.9, abs=0.3)


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (make_step(ms=99.0), ""),
        (make_step(ms=100.0), "p99 is 100 ms, not below 100"),
        (make_step("confirm", ms=100.0), "the upper bound of p99 is 100 ms, not below 100"),
        (make_step(ms=12_345.0), "p99 is 12,345 ms, not below 100"),
        (make_step("confirm", count=300), "300 journeys are too few for p99"),
        (make_step(failed=1), "failed journeys: 0.12 %, not below 0.1 %"),
        (make_step(gates=(gate("tape_unsent"),)), "journeys on the tape that were not sent: 1, not at most 0"),
        (make_step(gates=(gate("other_cores"),)), ""),
    ],
)
def test_what_a_rate_must_meet_to_hold(step: Step, reason: str) -> None:
    assert step["reasons"] == ([reason] if reason else [])
    assert step["holds"] is not bool(reason)


def test_verdicts_for_the_search() -> None:
    near = seen_in(make_step(ms=320.0), 100.0)
    assert (near.rate, near.holds, near.clear, near.generator_limited) == (80.0, False, False, False)
    assert seen_in(make_step(ms=500.0), 100.0).clear
    assert seen_in(make_step(failed=16), 100.0).clear
    assert seen_in(make_step(gates=(gate("generator_cores"),)), 100.0).generator_limited


def test_most_under_way() -> None:
    none = np.array([], dtype=np.int64)
    assert most_under_way(none, none) == 0
    # The second begins when the first ends; the third overlaps both of the last two.
    assert most_under_way(np.array([0, 10, 12, 15]), np.array([10, 20, 16, 18])) == 3


def journeys(*slow: tuple[float, float]) -> pl.DataFrame:
    """Makes a journey every 100 ms for 10 s; each takes 10 ms, or 300 ms if it starts within the given times."""
    at_s = [number / 10 for number in range(100)]
    took_s = [0.3 if any(begin <= at < end for begin, end in slow) else 0.01 for at in at_s]
    intended_ns, latency_ns = ([int(one * 1e9) for one in column] for column in (at_s, took_s))
    return pl.DataFrame({"intended_ns": intended_ns, "latency_ns": latency_ns, "outcome": "ok"})


def test_a_peak_is_between_two_halves() -> None:
    peak = in_peak(journeys(), PART_S)
    assert (peak["intended_ns"].min(), peak.height) == (2_000_000_000, 40)


@pytest.mark.parametrize(
    ("slow", "expected"),
    [((), 0.0), (((2.0, 6.0),), 0.0), (((5.0, 7.5),), 2.0), (((2.0, 6.4), (8.0, 8.5)), 3.0), (((2.0, 10.0),), None)],
)
def test_it_is_over_when_all_is_well_for_good(slow: tuple[tuple[float, float], ...], expected: float | None) -> None:
    assert recovery_s(journeys(*slow), PART_S, 100.0) == expected
