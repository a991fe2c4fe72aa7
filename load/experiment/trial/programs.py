"""Finds programs outside the run that use the processors: name, process id and cores."""

from __future__ import annotations

import time
from collections.abc import Collection

import psutil

from hops.run.documents.trial import Program

MIN_CORES = 0.02
"""Programs that use fewer cores are not named."""
MAX_PROGRAMS = 5


class Programs:
    """Compares the CPU time of every process with its CPU time at the start."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()
        self._first_s = {key: cpu_s for key, (_, cpu_s) in _cpu_times().items()}

    @property
    def lasted_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._began_s

    def name_busy(self, excluded: Collection[int] = ()) -> list[Program]:
        """Names the programs that used the processors since the start, the busiest first.

        A program that has ended since then is not named.

        Args:
            excluded: Process ids of the run; this process and its children are always excluded.
        """
        lasted_s = max(self.lasted_s, 1e-3)
        mine = {*excluded, *_own()}
        programs = [
            Program(name=name, pid=pid, cores=round((cpu_s - self._first_s.get((pid, began), 0.0)) / lasted_s, 3))
            for (pid, began), (name, cpu_s) in _cpu_times().items()
            if pid not in mine
        ]
        busy = [program for program in programs if program["cores"] >= MIN_CORES]
        return sorted(busy, key=lambda program: -program["cores"])[:MAX_PROGRAMS]


def _own() -> set[int]:
    this = psutil.Process()
    return {this.pid, *(child.pid for child in this.children(recursive=True))}


def _cpu_times() -> dict[tuple[int, float], tuple[str, float]]:
    times: dict[tuple[int, float], tuple[str, float]] = {}
    for process in psutil.process_iter():
        try:
            with process.oneshot():
                used = process.cpu_times()
                times[process.pid, process.create_time()] = (process.name(), used.user + used.system)
        except psutil.Error:
            continue  # the process has ended, or belongs to another user and is hidden
    return times
