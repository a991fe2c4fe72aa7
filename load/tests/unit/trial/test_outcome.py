from __future__ import annotations

import threading
import time

from experiment.trial.outcome import Clock
from experiment.trial.run import run_meanwhile


def test_the_parts_of_a_phase_add_up() -> None:
    clock = Clock()
    for phase in ("stop", "collect", "stop"):
        time.sleep(0.01)
        clock.lap(phase)
    assert list(clock.phases_s) == ["stop", "collect"]
    assert clock.phases_s["stop"] >= 0.02


def test_work_during_a_phase_ends_with_the_phase() -> None:
    may_end, ended = threading.Event(), threading.Event()

    def work() -> None:
        may_end.wait(10)
        ended.set()

    with run_meanwhile(work):
        assert not ended.is_set()
        may_end.set()
    assert ended.is_set()
