"""Measures the CPU time of processes, and waits until a system is idle."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Protocol

import psutil


class Resting(Protocol):
    """A system that may become idle."""

    def check(self) -> None:
        """Checks that the system still runs."""

    def pids(self) -> Mapping[str, list[int]]:
        """The processes of each component on this machine."""


LOOK_S = 0.5
"""Pause between two readings of the CPU time, in seconds."""


def pids_of(system: Resting) -> list[int]:
    """Returns the ids of a system's processes, without duplicates."""
    return list({pid for pids in system.pids().values() for pid in pids})


def cpu_seconds(pids: Iterable[int]) -> float:
    """Returns the CPU seconds that processes have used so far; a process that has ended counts as 0."""
    used = 0.0
    for pid in pids:
        with suppress(psutil.Error):
            times = psutil.Process(pid).cpu_times()
            used += times.user + times.system
    return used


def wait_for_rest(system: Resting, cores: float, limit_s: float) -> float:
    """Waits until a system uses hardly any CPU, and returns how long that took, in seconds.

    Args:
        cores: CPU seconds per second below which the system counts as idle.
        limit_s: Maximum wait, in seconds.

    Raises:
        ComponentDiedError: A component ended meanwhile.
    """
    began, used = time.monotonic(), cpu_seconds(pids_of(system))
    while (waited := time.monotonic() - began) < limit_s:
        time.sleep(LOOK_S)
        system.check()
        before, used = used, cpu_seconds(pids_of(system))
        if used - before < cores * LOOK_S:
            break
    return waited
