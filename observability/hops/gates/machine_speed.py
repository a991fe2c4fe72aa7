"""Whether the machine was as fast in a trial as in the trials that it is compared with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median

from hops.gates.limits import kind_of
from hops.run.documents.gate import Gate
from hops.run.documents.trial import TrialRecord

MIN_TRIALS = 3
"""Minimum number of an arm's trials: with fewer, the median does not show which one had a different speed."""


def with_speed_gates(trials: Sequence[TrialRecord], loads: Mapping[str, str] | None = None) -> list[TrialRecord]:
    """Adds to each trial the gate on how far its machine speed is from the usual speed.

    Intervals over blocks do not cover a state of the machine that lasts longer than a block. Measured milliseconds hold
    only for one speed of the machine; ratios within a block only need the same speed in the trials that they compare.

    Args:
        loads: The load of each arm, if the run is only about ratios of arms under the same load, in the same block.
    """
    usual = usual_speeds(
        {
            (trial["block"], trial["topology"]): trial["machine_speed"]
            for trial in trials
            if trial["used"] and "machine_speed" in trial
        },
        loads,
    )
    return [
        {**trial, "gates": [*trial["gates"], speed_gate(trial["machine_speed"], usual[of_trial])]}
        if "machine_speed" in trial and (of_trial := (trial["block"], trial["topology"])) in usual
        else trial
        for trial in trials
    ]


def usual_speeds(
    speeds: Mapping[tuple[int, str], float], loads: Mapping[str, str] | None = None
) -> dict[tuple[int, str], float]:
    """Returns the speed to expect in each trial, by block and arm, as far as there are enough trials to tell.

    This is the median of the arm's trials; arms are not compared, because their loads may change the speed. With
    `loads`, it is that median times the state of the machine at the time. That state is the median speed of the other
    trials in this block and under this load, each relative to its arm's median.
    """
    by_arm = defaultdict[str, list[float]](list)
    for (_, arm), speed in speeds.items():
        by_arm[arm].append(speed)
    of_arm = {arm: median(of_one) for arm, of_one in by_arm.items() if len(of_one) >= MIN_TRIALS}
    usual = {trial: of_arm[trial[1]] for trial in speeds if trial[1] in of_arm}
    if loads is None:
        return usual
    at_once = defaultdict[tuple[int, str], dict[str, float]](dict)
    for block, arm in usual:
        at_once[block, loads[arm]][arm] = speeds[block, arm] / of_arm[arm]
    return {
        (block, arm): speed * median(others)
        for (block, arm), speed in usual.items()
        if (others := [relative for other, relative in at_once[block, loads[arm]].items() if other != arm])
    }


def speed_gate(speed: float, usual: float) -> Gate:
    """Evaluates the gate on a trial's speed, relative to the usual speed."""
    return kind_of("speed_off_share").evaluate(abs(speed / usual - 1))
