"""The probe of the machine's speed."""

from __future__ import annotations

import threading

import pytest

from experiment.trial import machine_speed as probe


def test_more_work_in_the_same_time_is_a_higher_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "REPETITIONS", 5)
    alone = probe.machine_speed()
    assert alone > 0
    running = threading.Event()
    running.set()

    def spin() -> None:
        while running.is_set():
            pass

    # Threads of one interpreter share its lock, whatever the machine has: the same work takes longer.
    others = [threading.Thread(target=spin) for _ in range(3)]
    for other in others:
        other.start()
    try:
        assert probe.machine_speed() < 0.7 * alone
    finally:
        running.clear()
        for other in others:
            other.join(timeout=10)
