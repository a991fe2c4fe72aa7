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


def with_speed_gates(trials: Sequence[TrialRecord], *, in_blocks: bool = False) -> list[TrialRecord]:
    """Adds to each trial the gate on how far its machine speed is from the usual speed.

    Intervals over blocks do not cover a state of the machine that lasts longer than a block. Measured milliseconds hold
    only for one speed of the machine; ratios within a block only need the same speed in all its trials.

    Args:
        in_blocks: Whether the run is only about ratios within blocks.
    """
    usual = usual_speeds(
        {
            (trial["block"], trial["topology"]): trial["machine_speed"]
            for trial in trials
            if trial["used"] and "machine_speed" in trial
        },
        in_blocks=in_blocks,
    )
    return [
        {**trial, "gates": [*trial["gates"], speed_gate(trial["machine_speed"], usual[of_trial])]}
        if "machine_speed" in trial and (of_trial := (trial["block"], trial["topology"])) in usual
        else trial
        for trial in trials
    ]


def usual_speeds(speeds: Mapping[tuple[int, str], float], *, in_blocks: bool = False) -> dict[tuple[int, str], float]:
    """Returns the speed to expect in each trial, by block and arm, as far as there are enough trials to tell.

    This is the median of the arm's trials; arms are not compared, because their loads may change the speed. With
    `in_blocks`, it is that median times the state of the block: the median of how fast the block's other trials were,
    each relative to its arm's median.
    """
    by_arm = defaultdict[str, list[float]](list)
    for (_, arm), speed in speeds.items():
        by_arm[arm].append(speed)
    of_arm = {arm: median(of_one) for arm, of_one in by_arm.items() if len(of_one) >= MIN_TRIALS}
    usual = {trial: of_arm[trial[1]] for trial in speeds if trial[1] in of_arm}
    if not in_blocks:
        return usual
    of_block = defaultdict[int, dict[str, float]](dict)
    for block, arm in usual:
        of_block[block][arm] = speeds[block, arm] / of_arm[arm]
    return {
        (block, arm): speed * median(others)
        for (block, arm), speed in usual.items()
        if (others := [of_other for other, of_other in of_block[block].items() if other != arm])
    }


def speed_gate(speed: float, usual: float) -> Gate:
    """Evaluates the gate on a trial's speed, relative to the usual speed."""
    return kind_of("speed_off_share").evaluate(abs(speed / usual - 1))
