"""Whether the machine was equally fast in all trials of an arm."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median

from hops.gates.limits import kind_of
from hops.run.documents.gate import Gate
from hops.run.documents.trial import TrialRecord

MIN_TRIALS = 3
"""Minimum number of an arm's trials: with fewer, the median does not show which one had a different speed."""


def with_speed_gates(trials: Sequence[TrialRecord]) -> list[TrialRecord]:
    """Adds to each trial the gate on how far its machine speed is from the median of its arm's trials.

    Measured milliseconds hold only for one speed of the machine, and intervals over blocks do not cover a state of the
    machine that lasts longer than a block. Speeds of different arms are not compared, because the load may change them.
    """
    usual = usual_speeds(
        (trial["topology"], trial["machine_speed"]) for trial in trials if trial["used"] and "machine_speed" in trial
    )
    return [
        {**trial, "gates": [*trial["gates"], speed_gate(trial["machine_speed"], usual[trial["topology"]])]}
        if "machine_speed" in trial and trial["topology"] in usual
        else trial
        for trial in trials
    ]


def usual_speeds(speeds: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Returns the median speed of each arm with enough trials, from each trial's arm and speed."""
    by_arm = defaultdict[str, list[float]](list)
    for arm, speed in speeds:
        by_arm[arm].append(speed)
    return {arm: median(of_arm) for arm, of_arm in by_arm.items() if len(of_arm) >= MIN_TRIALS}


def speed_gate(speed: float, usual: float) -> Gate:
    """Evaluates the gate on a trial's speed, relative to the usual speed."""
    return kind_of("speed_off_share").evaluate(abs(speed / usual - 1))
