"""Do intervals hold if the run decides its number of blocks? Synthetic experiments that run until they are precise.

One system runs under several names, so the true ratio of any two is 1, in every metric and for every journey. Each
experiment decides after its blocks with the code of `make compare precision=`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TypedDict

import numpy as np

from hops.analysis.comparisons import compare_latencies, correct, describe_comparison
from hops.analysis.latencies import Latencies
from hops.analysis.precision import decide, half_widths
from hops.elements import numbers
from hops.elements.element import Element, Text
from hops.elements.table import Cell, Column, table_of, whole, words
from hops.run.documents.difference import Comparison
from hops.statistics.contrast import contrast
from hops.statistics.two_stage import half_width_of
from hops.units import ALL
from proofs.outcome import Progress, conclude
from proofs.statistics.experiments import (
    COVERAGE,
    DEFAULT,
    METRICS,
    NOISES,
    SAME,
    SHIFTED,
    Proof,
    Rate,
    is_seldom,
    over_experiments,
    rate,
)
from synthetic.experiment import Setting, Simulation

KINDS = {
    "trials shift by 2 %": (replace(SHIFTED, trial=0.02), 0.02),
    "trials shift by 5 %": (SHIFTED, 0.04),
    "trials shift by 10 %": (replace(SHIFTED, trial=0.1), 0.08),
    # The first stage is likely to contain no slow trial.
    "1 trial in 10 slow by 20 %": (replace(SHIFTED, trial=0.02, slow_trials=0.1, slow_by=1.2), 0.05),
    **{name: (noise, 0.1 if noise.slow_trials else 0.04) for name, noise in NOISES.items()},
}
"""How experiments scatter, and the requested precision: narrow enough that most need a second stage."""
FIRST_STAGE, _JOURNEYS = DEFAULT
"""Default size of `make compare`'s first stage, and journeys in a trial."""
FIRST_STAGES = (5, FIRST_STAGE)
TOPOLOGIES = (2, 4)
_MAX_BLOCKS = 60
"""Maximum blocks of an experiment: enough that few are cut short."""


class PrecisionRow(TypedDict):
    """Experiments of one kind.

    `coverage` counts 95 % intervals of ratios that contain the true ratio, by metric over all pairs, and over `all` and
    the journeys. `mix` counts the intervals of the mix's p50, which decide; `fixed` counts the same intervals, computed
    as if the number of blocks had been fixed. `shown` counts experiments with a false difference, by metric;
    `fixed_shown` does so at p50, as if the number had been fixed. `reached` counts experiments whose intervals of the
    mix reached the precision. `blocks` has the 10th, 50th and 90th percentile of the number of blocks.
    """

    kind: str
    experiments: int
    coverage: dict[str, Rate]
    mix: Rate
    fixed: Rate
    shown: dict[str, Rate]
    fixed_shown: Rate
    reached: Rate
    blocks: list[int]


class PrecisionProof(Proof):
    """Rows of all experiments, and by how they scatter, by size of the first stage, and by number of topologies."""

    rows: list[PrecisionRow]


class _Run(TypedDict):
    """Counts of an experiment: for each metric, intervals that hold and all intervals; and metrics that differ."""

    labels: Sequence[str]
    held: dict[str, tuple[int, int]]
    shown: set[str]
    reached: bool
    blocks: int


def prove_precision(experiments: int, seed: int, progress: Progress = lambda _: None) -> PrecisionProof:
    """Check intervals and verdicts of experiments that run until their intervals are narrow.

    Fails if coverage is outside 93 to 97 % with the usual first stage, or significantly below it in any kind of
    experiment. Fails too if a metric shows false differences in significantly more than 5 % of the experiments.
    """
    runs: list[_Run] = list(over_experiments(_experiment, experiments, seed, progress))
    labels = dict.fromkeys(label for label in ("all", *KINDS, *_labels()) for run in runs if label in run["labels"])
    rows = [_row(label, [run for run in runs if label in run["labels"]]) for label in labels]
    usual = [one for row in rows if row["kind"] == _stage(FIRST_STAGE) for one in row["coverage"].values()]
    holds = (
        all(COVERAGE[0] <= one["rate"] <= COVERAGE[1] for one in usual)
        and all(one["ci95"][1] >= COVERAGE[0] for row in rows for one in (row["mix"], *row["coverage"].values()))
        and is_seldom(one for row in rows for one in row["shown"].values())
    )
    return PrecisionProof(holds=holds, experiments=experiments, seed=seed, rows=rows)


def _labels() -> list[str]:
    return [*map(_stage, FIRST_STAGES), *(f"{count} topologies" for count in TOPOLOGIES)]


def _stage(first: int) -> str:
    return f"first stage of {first} blocks"


def _row(kind: str, runs: Sequence[_Run]) -> PrecisionRow:
    def coverage_of(name: str) -> Rate:
        held, intervals = np.array([run["held"].get(name, (0, 0)) for run in runs]).sum(axis=0)
        return rate(int(held), int(intervals))

    def false_rate_of(name: str) -> Rate:
        return rate(sum(name in run["shown"] for run in runs), len(runs))

    blocks = np.percentile([run["blocks"] for run in runs], [10, 50, 90])
    return PrecisionRow(
        kind=kind,
        experiments=len(runs),
        coverage={name: coverage_of(name) for name in METRICS},
        mix=coverage_of("mix"),
        fixed=coverage_of("fixed"),
        shown={name: false_rate_of(name) for name in METRICS},
        fixed_shown=false_rate_of("fixed"),
        reached=rate(sum(run["reached"] for run in runs), len(runs)),
        blocks=[round(one) for one in blocks],
    )


def _experiment(seed: np.random.SeedSequence) -> _Run:
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(list(KINDS)))
    first, count = int(rng.choice(FIRST_STAGES)), int(rng.choice(TOPOLOGIES))
    noise, asked = KINDS[kind]
    names = list(SAME)[:count]
    sides = Simulation(Setting(_MAX_BLOCKS, _JOURNEYS, noise), rng).experiment({name: SAME[name] for name in names})
    ran, blocks = 0, first
    while blocks > ran:
        ran = blocks
        latencies = {name: _first_blocks(side, ran, first) for name, side in sides.items()}
        blocks = decide(latencies, asked, ran).blocks(_MAX_BLOCKS)
    rows = [row for row in compare_latencies(latencies) if row["metric"] in METRICS]
    correct(rows)
    fixed = _as_if_fixed(latencies)
    correct(fixed)
    held: dict[str, tuple[int, int]] = {}
    mix = [(row, "mix") for row in rows] + [(row, "fixed") for row in fixed]
    counted = [(row, row["metric"]) for row in rows]
    counted += [(row, name) for row, name in mix if (row["journey"], row["metric"]) == (ALL, "p50")]
    for row, name in counted:
        low, high = row["ratio_ci95"]
        if low is not None and high is not None:
            hits, of = held.get(name, (0, 0))
            held[name] = (hits + (low <= 1 <= high), of + 1)
    verdicts = ("left_lower", "right_lower")
    shown = {row["metric"] for row in rows if row["verdict"] in verdicts}
    if any(row["verdict"] in verdicts for row in fixed):
        shown.add("fixed")
    return _Run(
        labels=("all", kind, _stage(first), f"{count} topologies"),
        held=held,
        shown=shown,
        reached=max(half_widths(rows)) <= half_width_of(asked) * (1 + 1e-9),
        blocks=ran,
    )


def _as_if_fixed(latencies: Mapping[str, Latencies]) -> list[Comparison]:
    """Compares at p50 as if the number of blocks had been fixed, without a first stage."""
    rows = []
    for left, right in combinations(latencies, 2):
        sides = [Latencies(latencies[name].cells) for name in (left, right)]
        for journey in sides[0].cells:
            ours, theirs = (side.sections(journey, sorted(side.blocks))["p50"] for side in sides)
            values = (ours.value, theirs.value)
            rows.append(describe_comparison(journey, "p50", (left, right), values, contrast(ours, theirs)))
    return rows


def _first_blocks(side: Latencies, count: int, first: int) -> Latencies:
    cells = {name: {block: ms for block, ms in cell.items() if block <= count} for name, cell in side.cells.items()}
    return Latencies(cells, first)


def precision_view(proof: PrecisionProof) -> list[Element]:
    columns: list[tuple[Column, Callable[[PrecisionRow], Cell]]] = [
        (Column("experiments", numeric=False), lambda row: words(row["kind"])),
        (Column("number"), lambda row: whole(row["experiments"])),
        (Column("blocks", spare=1), lambda row: Cell("{1} ({0} to {2})".format(*row["blocks"]))),
        (Column("reached"), lambda row: _share(row["reached"])),
        (Column("coverage, mix"), lambda row: _share(row["mix"])),
        (Column("naive", spare=1), lambda row: _share(row["fixed"])),
        (Column("coverage, least"), lambda row: _share(min(row["coverage"].values(), key=_rate))),
        (Column("most"), lambda row: _share(max(row["coverage"].values(), key=_rate))),
        (Column("false, most"), lambda row: _share(max(row["shown"].values(), key=_rate))),
        (Column("naive", spare=1), lambda row: _share(row["fixed_shown"])),
    ]
    low_end, high_end = (f"{100 * limit:g}" for limit in COVERAGE)
    return [
        table_of(
            "precision",
            f"{proof['experiments']:,} A/A experiments that run until they are precise",
            proof["rows"],
            columns,
        ),
        Text(
            "Blocks: median, 10th and 90th percentile. Reached: experiments whose intervals of the mix's p50 reached "
            "the precision. Coverage: 95 % intervals of ratios that contain the true ratio, of the mix's p50 and "
            "of the metrics with the least and the most. False: experiments that show a false difference, for the "
            "metric with the most. Naive: the same at p50, from the scatter of all blocks alone."
        ),
        conclude(
            proof["holds"],
            f"With a first stage of {FIRST_STAGE} blocks, each metric's intervals contain the true value in {low_end} "
            f"to {high_end} % of cases. In no kind of experiment is the share significantly lower, and no metric shows "
            "false differences in significantly more than 5 % of the experiments.",
            f"Intervals contain the true value in less than {low_end} % of cases or, with a first stage of "
            f"{FIRST_STAGE} blocks, in more than {high_end} %. Or a metric shows false differences in significantly "
            "more than 5 % of the experiments.",
        ),
    ]


def _rate(one: Rate) -> float:
    return one["rate"]


def _share(one: Rate) -> Cell:
    return Cell(numbers.share(_rate(one)))
