"""Measures how fast the machine is during a load, with a fixed piece of work.

The host of a virtual machine may slow the machine down unnoticed: through another guest on the same core's second
thread, or a lower clock rate. Neither counts as steal; the same journeys just take more CPU seconds. The speed of an
idle machine does not predict it: on some hosts the idle machine changes its speed several times a second.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable
from types import TracebackType

ROUNDS = 10_000
"""Length of the piece of work, which takes less than a millisecond."""
INTERVAL_S = 0.1


class MachineSpeed:
    """Times the piece of work again and again until the block ends, at a cost of less than 1 % of a core.

    CPU time is measured, so that it does not matter whether other work interrupts the piece.

    Args:
        clock: Returns the CPU time of the calling thread, in nanoseconds.
    """

    def __init__(self, interval_s: float = INTERVAL_S, clock: Callable[[], int] = time.thread_time_ns) -> None:
        self._interval_s, self._clock = interval_s, clock
        self._speeds: list[float] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="machine-speed", daemon=True)

    def __enter__(self) -> MachineSpeed:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(timeout=10)

    @property
    def mean(self) -> float:
        """Millions of rounds of a small loop per CPU second; comparable only within one version of Python."""
        return statistics.fmean(self._speeds)

    def _run(self) -> None:
        self._speeds.append(_rounds_per_us(self._clock))
        while not self._stop.wait(self._interval_s):
            self._speeds.append(_rounds_per_us(self._clock))


def _rounds_per_us(clock: Callable[[], int]) -> float:
    began = clock()
    total = 0
    for number in range(ROUNDS):
        total += number & 7
    return ROUNDS / (clock() - began) * 1e3
