"""Measures how fast the machine is at the moment, with a fixed piece of work.

The host of a virtual machine may slow the machine down unnoticed: through another guest on the same core's second
thread, or a lower clock rate. Neither counts as steal; the same journeys just take more CPU seconds.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

from experiment.errors import UsageError
from experiment.results.folder import finished_runs, read_json
from experiment.results.manifest import machine

ROUNDS = 200_000
REPETITIONS = 15
MAX_KEPT_RUNS = 20
"""Number of the latest runs that define the usual speed."""
_SAME = ("cpu", "cores", "python")
"""Properties that two runs must share for their speeds to be comparable."""


def usual_speed(results: Path) -> tuple[float, int] | None:
    """Returns the median speed of trials of the latest kept runs here, if there are any, and the number of trials."""
    # Not imported at the top, so that trials do not wait for the import of modules that read rows.
    from hops.run.files import MANIFEST, TRIALS

    here, speeds = machine(), []
    for name in sorted(finished_runs(results, TRIALS), reverse=True)[:MAX_KEPT_RUNS]:
        try:
            there = read_json(results / name / MANIFEST)["machine"]
            if all(there[key] == here[key] for key in _SAME):
                trials = read_json(results / name / TRIALS)["trials"]
                speeds += [trial["machine_speed"] for trial in trials if trial["used"] and "machine_speed" in trial]
        except (UsageError, KeyError, TypeError):
            continue  # written by another version
    return (statistics.median(speeds), len(speeds)) if speeds else None


def machine_speed(clock: Callable[[], int] = time.perf_counter_ns) -> float:
    """Measures the speed of one core for about a quarter of a second, during which nothing else should run.

    Returns:
        Millions of rounds of a small loop per second, as the median of several repetitions. The value is comparable
        only with values that the same version of Python measured.
    """
    return statistics.median(_rounds_per_us(clock) for _ in range(REPETITIONS))


def _rounds_per_us(clock: Callable[[], int]) -> float:
    began = clock()
    total = 0
    for number in range(ROUNDS):
        total += number & 7
    return ROUNDS / (clock() - began) * 1e3
