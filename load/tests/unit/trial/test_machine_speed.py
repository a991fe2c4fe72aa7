from __future__ import annotations

import itertools
import threading
import time

import pytest

from experiment.trial.machine_speed import ROUNDS, MachineSpeed


@pytest.mark.parametrize("duration_ns", [2_000_000, 4_000_000])
def test_speed_is_the_work_per_microsecond(duration_ns: int) -> None:
    edges = itertools.cycle([0, duration_ns])
    with MachineSpeed(interval_s=0.0, clock=lambda: next(edges)) as speed:
        pass
    assert speed.mean == pytest.approx(ROUNDS / duration_ns * 1e3)


def test_it_is_measured_until_the_block_ends() -> None:
    durations_ns = iter([1_000_000, *[4_000_000] * 10_000])
    edges = (edge for duration in durations_ns for edge in (0, duration))
    with MachineSpeed(interval_s=0.01, clock=lambda: next(edges)) as speed:
        time.sleep(0.5)
    assert ROUNDS / 4_000 < speed.mean < ROUNDS / 2_000  # the first piece was fast, several later ones were not
    assert "machine-speed" not in {thread.name for thread in threading.enumerate()}
