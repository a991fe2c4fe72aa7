"""Measures how fast the machine is at the moment, with a fixed piece of work.

The host of a virtual machine may slow the machine down unnoticed: through another guest on the same core's second
thread, or a lower clock rate. Neither counts as steal; the same journeys just take more CPU seconds. The speed may
change several times a second, so a short measurement would show the speed of a moment that the trial did not see.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from experiment.errors import UsageError
from experiment.results.folder import finished_runs, read_json
from experiment.results.manifest import machine

ROUNDS = 200_000
REPETITIONS = 15
MAX_ERROR = 0.01
"""Standard error, as a share of the mean, above which there are further repetitions."""
PAUSE_S = 0.05
"""Seconds between further repetitions."""
FURTHER_PER_S, MAX_FURTHER = 3, 75
"""Further repetitions for each second of load, and at most."""
TRIMMED = 0.2
"""Share of the repetitions that is left out at each end, because something else may have interrupted them."""
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


def machine_speed(
    load_s: float = 0.0,
    clock: Callable[[], int] = time.perf_counter_ns,
    sleep: Callable[[float], None] = time.sleep,
) -> float:
    """Measures the speed of one core, during which nothing else should run.

    It takes a quarter of a second, and up to 5 s more if the speed changes meanwhile.

    Args:
        load_s: Length of the load that the speed is compared with; a longer load justifies a longer measurement.

    Returns:
        Millions of rounds of a small loop per second, as the trimmed mean of several repetitions. The value is
        comparable only with values that the same version of Python measured.
    """
    speeds = [_rounds_per_us(clock) for _ in range(REPETITIONS)]
    further = min(MAX_FURTHER, int(FURTHER_PER_S * load_s))
    while _error(kept := _trim(speeds)) > MAX_ERROR and len(speeds) < REPETITIONS + further:
        sleep(PAUSE_S)
        speeds.append(_rounds_per_us(clock))
    return statistics.fmean(kept)


def _trim(speeds: Sequence[float]) -> Sequence[float]:
    left_out = int(TRIMMED * len(speeds))
    return sorted(speeds)[left_out : len(speeds) - left_out]


def _error(speeds: Sequence[float]) -> float:
    return statistics.stdev(speeds) / math.sqrt(len(speeds)) / statistics.fmean(speeds)


def _rounds_per_us(clock: Callable[[], int]) -> float:
    began = clock()
    total = 0
    for number in range(ROUNDS):
        total += number & 7
    return ROUNDS / (clock() - began) * 1e3
