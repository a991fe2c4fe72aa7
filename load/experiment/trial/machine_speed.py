"""How fast the machine is at the moment, by a fixed piece of work.

A virtual machine's host may slow it down without a trace: another guest on the same core's second thread, or a lower
clock. Neither counts as steal; the same journeys just take more CPU seconds.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

ROUNDS = 200_000
REPETITIONS = 15


def machine_speed(clock: Callable[[], int] = time.perf_counter_ns) -> float:
    """Measures one core for about a quarter of a second, while nothing else should run.

    Args:
        clock: Gives the time in nanoseconds.

    Returns:
        Million rounds of a small loop a second, the median of several repetitions: it has a meaning only beside
        another one, of the same Python.
    """
    return statistics.median(_rounds_per_us(clock) for _ in range(REPETITIONS))


def _rounds_per_us(clock: Callable[[], int]) -> float:
    began = clock()
    total = 0
    for number in range(ROUNDS):
        total += number & 7
    return ROUNDS / (clock() - began) * 1e3
