"""Do 95 % intervals contain the truth on a machine that changes its speed, with and without the gate on it?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import TypedDict

import numpy as np
from scipy import optimize, special

from hops.analysis.latencies import Latencies, cells_of
from hops.analysis.of_traces.limits import Limit, check
from hops.analysis.of_traces.timelines import TOTAL, Timeline
from hops.elements.element import Element
from hops.elements.table import Table, words
from hops.gates.machine_speed import speed_gate, usual_speeds
from hops.statistics.contrast import contrast
from hops.statistics.intervals import Interval
from hops.units import ALL
from proofs.outcome import Progress, conclude
from proofs.statistics.cells import name_columns, rate_columns, show_rate
from proofs.statistics.coverage import DIFFERENT
from proofs.statistics.experiments import COVERAGE, Proof, Rate, is_seldom, over_experiments, rate
from synthetic.experiment import Simulation, draw_setting

FIGURES = ("ratio of p50", "ratio of p99", "difference of p50", "difference of means", "p50 of one topology")
HELD = FIGURES[:4]
"""Figures whose truth the intervals of VALID runs must contain."""
RATIOS = FIGURES[:2]
"""The same, if the gate compares speeds within blocks."""
GATES = {"valid": None, "in_blocks": dict.fromkeys(DIFFERENT, "load")}
"""The gates on the machine's speed: the loads of arms, for the gate that compares within blocks."""
_MEASURED = 0.02
"""Standard deviation of the logarithm of a measured speed."""
_RETRIES = 1
SHARES = (0.02, 0.25, 1.0)
"""Lengths of a state, as shares of a set of traces."""
_TRACES, _SIGMA = 2000, 0.45
"""Traces of a set, and the standard deviation of the logarithm of their times."""
Counts = Counter[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine whose share `slow` of trials takes `slow_by` times as long; a state lasts `lasts` trials on average."""

    lasts: float
    slow: float
    slow_by: float

    def states(self, rng: np.random.Generator) -> Iterator[float]:
        """Yields the factor on the duration of each successive attempt at a trial."""
        state = self._draw(rng)
        while True:
            yield state
            if rng.random() < 1 / self.lasts:
                state = self._draw(rng)

    def _draw(self, rng: np.random.Generator) -> float:
        return self.slow_by if rng.random() < self.slow else 1.0


MACHINES = {
    "states that last 20 trials, half of them slow by 1.3": Machine(20, 0.5, 1.3),
    "one slow trial in 12, by 1.3": Machine(1, 1 / 12, 1.3),
    "one slow trial in 12, by 1.5": Machine(1, 1 / 12, 1.5),
}


class OfMachine(TypedDict):
    """Coverage of a figure on a machine: all runs against the long-run truth, VALID runs against their own speed's.

    `in_blocks` are the runs that are VALID if only trials of the same block must have the same speed.
    """

    machine: str
    figure: str
    before: Rate
    valid: Rate
    in_blocks: Rate


class OfLimit(TypedDict):
    """How often a limit at the true value is broken, alone and against a baseline, if states last `share` of a set."""

    share: float
    alone: Rate
    against: Rate


class SpeedsProof(Proof):
    """The figures by machine, the shares of VALID runs by machine and gate, and the limits."""

    figures: list[OfMachine]
    valid: dict[str, dict[str, Rate]]
    limits: list[OfLimit]


def prove_speeds(experiments: int, seed: int, progress: Progress = lambda _: None) -> SpeedsProof:
    """Check intervals on a machine that changes its speed.

    Fails if intervals of ratios and differences of VALID runs contain the truth in significantly less than 93 %, or if
    no run is VALID. With the gate within blocks, only ratios count. Fails too if a true limit is broken against a
    baseline in significantly more than 5 %.
    """
    counts = sum(over_experiments(run_experiment, experiments, seed, progress), Counts())
    figures = []
    for name, figure in product(MACHINES, FIGURES):
        before, valid_runs, in_blocks = (
            rate(counts[name, figure, side, "held"], counts[name, figure, side, "of"]) for side in ("before", *GATES)
        )
        figures.append(OfMachine(machine=name, figure=figure, before=before, valid=valid_runs, in_blocks=in_blocks))
    valid = {
        name: {side: rate(counts[name, "runs", side], counts[name, "runs", "of"]) for side in GATES}
        for name in MACHINES
    }
    limits = []
    for share in SHARES:
        alone, against = (rate(counts["limit", f"{share}", way], experiments) for way in ("alone", "against"))
        limits.append(OfLimit(share=share, alone=alone, against=against))
    judged = [row["valid"] for row in figures if row["figure"] in HELD]
    judged += [row["in_blocks"] for row in figures if row["figure"] in RATIOS]
    holds = all(
        one["of"] and one["ci95"][1] >= COVERAGE[0] for one in judged
    )  # a gate that refuses all runs proves nothing
    holds &= is_seldom(row["against"] for row in limits)
    return SpeedsProof(holds=holds, experiments=experiments, seed=seed, figures=figures, valid=valid, limits=limits)


def run_experiment(seed: np.random.SeedSequence) -> Counts:
    """Runs one experiment without and with the gate, and counts intervals that contain the truth."""
    rng = np.random.default_rng(seed)
    name = list(MACHINES)[rng.integers(len(MACHINES))]
    machine = MACHINES[name]
    simulation = Simulation(draw_setting(rng, blocks=(5, 8, 12), journeys=(400, 1500)), rng)
    calm = simulation.experiment(DIFFERENT)
    blocks = range(1, simulation.setting.blocks + 1)
    trials = [(block, topology) for block in blocks for topology in rng.permutation(list(DIFFERENT))]
    states = machine.states(rng)
    first = {trial: next(states) for trial in trials}
    sides = {"before": first}
    for side, loads in GATES.items():
        slowness, is_valid = _repeat(trials, machine.states(rng), rng, loads)
        if is_valid:
            sides[side] = slowness
    counts = Counts({(name, "runs", "of"): 1, **{(name, "runs", side): int(side in sides) for side in GATES}})
    noise = simulation.setting.noise
    for side, slowness in sides.items():
        speed = 1.0
        if side == "before":  # the truth for an endless run
            mixed = replace(noise, slow_trials=machine.slow, slow_by=machine.slow_by)
            simulation.setting = replace(simulation.setting, noise=mixed)
        else:
            simulation.setting = replace(simulation.setting, noise=noise)
            speed = float(np.median(list(slowness.values())))
        truths = {topology: simulation.truth(factor * speed)[ALL] for topology, factor in DIFFERENT.items()}
        for figure, (low, high), truth in _intervals(calm, slowness, blocks, truths):
            if low is not None and high is not None:
                counts[name, figure, side, "of"] += 1
                counts[name, figure, side, "held"] += low <= truth <= high
    for share in SHARES:
        for way, is_broken in zip(("alone", "against"), break_limit(share, rng), strict=True):
            counts["limit", f"{share}", way] += is_broken
    return counts


def break_limit(share: float, rng: np.random.Generator) -> tuple[bool, bool]:
    """Whether a limit at the true median is broken, alone and against a baseline; states last this share of the set."""
    states = Machine(share * _TRACES, 0.5, 1.3).states(rng)
    slowness = np.array([next(states) for _ in range(_TRACES)])
    limit = Limit("operation", TOTAL, "p50", _true_median(), ("", "", ""))
    now, baseline = ({"operation": Timeline(slowness * np.exp(rng.normal(0, _SIGMA, _TRACES)), {})} for _ in range(2))
    (alone,), (against,) = check([limit], now), check([limit], now, baseline)
    return alone.state == "broken", against.state == "broken"


@cache
def _true_median() -> float:
    """Returns the true median of latencies over all states of the machine."""

    def off(at: float) -> float:
        return float(special.ndtr(np.log([at, at / 1.3]) / _SIGMA).mean()) - 0.5

    return float(optimize.brentq(off, 0.5, 2.0))


def _repeat(
    trials: list[tuple[int, str]],
    states: Iterator[float],
    rng: np.random.Generator,
    loads: Mapping[str, str] | None,
) -> tuple[dict[tuple[int, str], float], bool]:
    """Draws a run that retries refused trials, at once and at its end.

    Returns the slowness of its trials, and whether it is VALID.
    """
    slowness: dict[tuple[int, str], float] = {}
    speeds: dict[tuple[int, str], float] = {}

    left = dict.fromkeys(trials, 1 + _RETRIES)

    def holds(trial: tuple[int, str]) -> bool:
        usual = usual_speeds(speeds, loads)
        return trial not in usual or speed_gate(speeds[trial], usual[trial])["ok"]

    for trial in (*trials, *trials):
        while left[trial] and not (trial in speeds and holds(trial)):
            left[trial] -= 1
            slowness[trial] = next(states)
            speeds[trial] = float(np.exp(rng.normal(0, _MEASURED)) / slowness[trial])
    return slowness, all(holds(trial) for trial in trials)


def _intervals(
    calm: dict[str, Latencies],
    slowness: dict[tuple[int, str], float],
    blocks: range,
    truths: dict[str, dict[str, float]],
) -> Iterator[tuple[str, Interval, float]]:
    sections = {}
    for topology, latencies in calm.items():
        cells = {
            (journey, block): ms * slowness[block, topology]
            for journey, by_block in latencies.cells.items()
            for block, ms in by_block.items()
        }
        sections[topology] = Latencies(cells_of(cells)).sections(ALL, blocks)
    left, right = DIFFERENT
    for metric in ("p50", "p99", "mean"):
        difference = contrast(sections[left][metric], sections[right][metric])
        ours, theirs = (truths[topology][metric] for topology in DIFFERENT)
        yield f"ratio of {metric}", difference.ratio_interval, ours / theirs
        yield f"difference of {metric.replace('mean', 'means')}", difference.interval, ours - theirs
    yield "p50 of one topology", sections[left]["p50"].interval, truths[left]["p50"]


def speeds_view(proof: SpeedsProof) -> list[Element]:
    rows = [
        [
            words(row["machine"]),
            words(row["figure"]),
            show_rate(row["before"]),
            show_rate(row["valid"]),
            show_rate(row["in_blocks"]),
        ]
        for row in proof["figures"]
    ]
    by_gate = ("VALID runs", "VALID runs, gate within blocks")
    columns = [*name_columns("machine", "figure"), *rate_columns("without the gate", *by_gate)]
    valid = [[words(name), *(show_rate(shares[side]) for side in GATES)] for name, shares in proof["valid"].items()]
    title = f"Coverage of 95 % intervals on machines that change their speed, {proof['experiments']:,} experiments"
    limits = [
        [words(f"{100 * row['share']:g} % of the set"), show_rate(row["alone"]), show_rate(row["against"])]
        for row in proof["limits"]
    ]
    of_limits = [*name_columns("states last"), *rate_columns("alone", "against a baseline")]
    of_runs = [*name_columns("machine"), *rate_columns("VALID", "gate within blocks")]
    return [
        Table("speeds", title, columns, rows, heads=2),
        Table("valid_runs", f"Runs that are VALID with retry={_RETRIES}", of_runs, valid),
        Table("true_limits", "Sets of traces in which a true limit is broken", of_limits, limits),
        conclude(
            proof["holds"],
            f"Ratios and differences of VALID runs are covered in {100 * COVERAGE[0]:g} % of cases or more, and true "
            "limits are not broken against a baseline.",
            f"Ratios or differences of VALID runs are covered in less than {100 * COVERAGE[0]:g} % of cases, no run of "
            "a machine is VALID, or true limits are broken against a baseline.",
        ),
    ]
