"""Whether the machine was equally fast in all trials of a run."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from hops.gates.limits import kind_of
from hops.run.documents.gate import Gate
from hops.run.documents.trial import TrialRecord

MIN_TRIALS = 3
"""Minimum number of trials: with fewer, the median does not show which trial had a different speed."""


def with_speed_gates(trials: Sequence[TrialRecord]) -> list[TrialRecord]:
    """Adds to each trial the gate on how far its machine speed is from the median of all trials.

    Measured milliseconds hold only for one speed of the machine, and intervals over blocks do not cover a state of the
    machine that lasts longer than a block.
    """
    speeds = [trial["machine_speed"] for trial in trials if trial["used"] and "machine_speed" in trial]
    if len(speeds) < MIN_TRIALS:
        return list(trials)
    usual = median(speeds)
    return [
        trial
        if "machine_speed" not in trial
        else {**trial, "gates": [*trial["gates"], speed_gate(trial["machine_speed"], usual)]}
        for trial in trials
    ]


def speed_gate(speed: float, usual: float) -> Gate:
    """Evaluates the gate on a trial's speed, relative to the usual speed."""
    return kind_of("speed_off_share").evaluate(abs(speed / usual - 1))
