"""Whether the machine was equally fast in all trials of an arm."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
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
    speeds = defaultdict[str, list[float]](list)
    for trial in trials:
        if trial["used"] and "machine_speed" in trial:
            speeds[trial["topology"]].append(trial["machine_speed"])
    return [
        {**trial, "gates": [*trial["gates"], speed_gate(trial["machine_speed"], median(of_arm))]}
        if "machine_speed" in trial and len(of_arm := speeds[trial["topology"]]) >= MIN_TRIALS
        else trial
        for trial in trials
    ]


def speed_gate(speed: float, usual: float) -> Gate:
    """Evaluates the gate on a trial's speed, relative to the usual speed."""
    return kind_of("speed_off_share").evaluate(abs(speed / usual - 1))
