"""Coverage: do 95 % intervals contain the truth?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, TypedDict

import numpy as np

from hops.analysis.latencies import Latencies
from hops.elements import numbers
from hops.elements.element import Element
from hops.elements.table import Cell, Column, Table, table_of, whole, words
from hops.statistics.contrast import contrast
from hops.statistics.curve_crossings import Lines, curve_of, gap_between
from hops.statistics.intervals import Interval
from hops.statistics.over_blocks import MEAN, NO_INTERVAL
from hops.units import ALL
from proofs.outcome import Progress, conclude
from proofs.statistics.cells import name_columns, show_with_error
from proofs.statistics.experiments import (
    COVERAGE,
    METRICS,
    PARTS,
    USUAL,
    Proof,
    over_experiments,
    part_intervals,
    rounds,
    setting_of,
)
from synthetic.experiment import Distant, Simulation
from synthetic.shop import JOURNEY_SHAPES

DIFFERENT = {"left": 1.0, "right": 1.25}
"""Two topologies: the right one is slower by a quarter."""
DISTANT = {
    "left": Distant(1.0, {name: 1.0 if name in ("checkout", "login") else 2.0 for name in JOURNEY_SHAPES}),
    "right": Distant(1.25, dict.fromkeys(JOURNEY_SHAPES, 1.0)),
}
"""The same two topologies at a distance, where the right one is slower but needs fewer round trips."""
_DISTANCES_MS = np.arange(0.0, 101.0)
_SLOWER_PARTS = 2
"""How many of `PARTS`, from the first, are slower on the right, by the factor of `DIFFERENT`."""
_COVERED_JOURNEYS = (200, 400, 1500, 5000)
"""Possible numbers of journeys in a trial."""


class Coverage(TypedDict):
    """How often a metric's intervals of one kind of figure contained the true value, and how many were refused."""

    metric: str
    figure: str
    held: int
    intervals: int
    coverage: float
    error: float
    refused: int
    ok: bool


class CoverageProof(Proof):
    """Coverage over all experiments, `by` blocks, shift and journeys in a block; `noises` has it by kind of noise."""

    figures: list[Coverage]
    by: dict[str, dict[str, float]]
    noises: dict[str, list[Coverage]]


Counts = dict[tuple[str, str], tuple[int, int, int]]
"""(metric, kind of figure) -> (intervals that contain the truth, intervals, figures without an interval)."""


def prove_coverage(experiments: int, seed: int, progress: Progress = lambda _: None) -> CoverageProof:
    """Measure how often 95 % intervals contain the true value; fails outside 93 to 97 % with the usual noise.

    Each other kind of noise gets a quarter as many experiments.
    """
    by: Counter[tuple[str, str, str]] = Counter()
    noises: dict[str, list[Coverage]] = {}
    for noise, many, before in rounds(experiments):
        held: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
        for experiment, labels in over_experiments(partial(_coverage, noise=noise), many, seed, progress, before):
            for key, counts in experiment.items():
                held.setdefault(key, []).append(counts)
                for label in labels if noise == USUAL else ():
                    by[label, key[0], "held"] += counts[0]
                    by[label, key[0], "of"] += counts[1]
        noises[noise] = [
            _count_coverage(metric, figure, np.array(rows))
            for (metric, figure), rows in sorted(held.items(), key=_order)
        ]
    shares: dict[str, dict[str, float]] = {}
    for (label, metric, what), count in sorted(by.items()):
        if what == "of" and count:
            shares.setdefault(label, {})[metric] = by[label, metric, "held"] / count
    figures = noises.pop(USUAL)
    return CoverageProof(
        holds=all(row["ok"] for row in figures),
        experiments=experiments,
        seed=seed,
        figures=figures,
        by=shares,
        noises=noises,
    )


def _coverage(seed: np.random.SeedSequence, *, noise: str) -> tuple[Counts, Sequence[str]]:
    """Runs an experiment: counts how often intervals contain the truth, and returns the labels of its setting."""
    rng = np.random.default_rng(seed)
    setting = setting_of(rng, noise, _COVERED_JOURNEYS)
    simulation = Simulation(setting, rng)
    sides = simulation.experiment(DIFFERENT)
    truths = {name: simulation.truth(factor) for name, factor in DIFFERENT.items()}
    blocks = range(1, setting.blocks + 1)
    counts: Counts = {}

    def note(metric: str, figure: str, ends: tuple[float | None, float | None], truth: float) -> None:
        held, intervals, refused = counts.get((metric, figure), (0, 0, 0))
        low, high = ends
        if low is None or high is None:
            counts[metric, figure] = (held, intervals, refused + 1)
        else:
            counts[metric, figure] = (held + (low <= truth <= high), intervals + 1, refused)

    for journey in truths["left"]:
        left, right = (side.sections(journey, blocks) for side in sides.values())
        for metric in METRICS:
            ours, theirs = (truths[name][journey][metric] for name in DIFFERENT)
            note(metric, "one topology", left[metric].interval, ours)
            note(metric, "one topology", right[metric].interval, theirs)
            result = contrast(left[metric], right[metric])
            note(metric, "difference", result.interval, ours - theirs)
            note(metric, "ratio", result.ratio_interval, ours / theirs)
        if journey == ALL or DISTANT["left"].round_trips[journey] > 1:
            truth = simulation.break_even(DISTANT["left"], DISTANT["right"], journey)
            note("p50", "break-even", _break_even(sides, journey, blocks), truth)
    slower = dict(zip(PARTS, [DIFFERENT["right"]] * _SLOWER_PARTS + [1.0] * (len(PARTS) - _SLOWER_PARTS), strict=True))
    for _, ends, truth in part_intervals(simulation, {"left": dict.fromkeys(PARTS, 1.0), "right": slower}):
        note(MEAN, "part of a hop difference" if truth else "part that does not differ", ends, truth)
    labels = (
        f"{setting.blocks} blocks",
        f"blocks shifted by {setting.noise.block:.0%}",
        f"{setting.journeys} journeys in a block",
        f"sigma {setting.noise.sigma}",
        f"correlation {setting.noise.correlation}",
    )
    return counts, labels


def _break_even(sides: Mapping[str, Latencies], journey: str, blocks: Sequence[int]) -> Interval:
    """Returns the interval of the distance beyond which the right side is faster; an unknown end is infinite."""
    curves = {}
    for name, side in sides.items():
        trips = DISTANT[name].round_trips
        lines = [_lines(side, trips if journey == ALL else {journey: trips[journey]}, block) for block in blocks]
        curves[name] = curve_of(lines, _DISTANCES_MS[None, :])
    left, right = curves["left"], curves["right"]
    if left is None or right is None:
        return NO_INTERVAL
    gap = gap_between(left, right)
    if gap.reason is not None:
        return NO_INTERVAL
    shown = {is_left: (begin, end) for is_left, begin, end in gap.lower(_DISTANCES_MS)}
    return (shown[True][1] if True in shown else -np.inf, shown[False][0] if False in shown else np.inf)


def _lines(side: Latencies, round_trips: Mapping[str, float], block: int) -> Lines:
    rows = {name: side.cells[name][block] for name in round_trips if name in side.cells}
    costs = np.repeat([round_trips[name] for name in rows], [ms.size for ms in rows.values()])
    return Lines(np.concatenate([*rows.values()]), costs[:, None])


def _count_coverage(metric: str, figure: str, rows: Any) -> Coverage:
    held, intervals, refused = (int(one) for one in rows.sum(axis=0))
    share = held / intervals if intervals else float("nan")
    # Intervals of one experiment tend to contain or miss the truth together, so the error is from whole experiments.
    error = float(np.sqrt(((rows[:, 0] - share * rows[:, 1]) ** 2).sum())) / intervals if intervals else float("nan")
    return Coverage(
        metric=metric,
        figure=figure,
        held=held,
        intervals=intervals,
        coverage=share,
        error=error,
        refused=refused,
        ok=COVERAGE[0] <= share <= COVERAGE[1],
    )


def _order(item: tuple[tuple[str, str], Sequence[Any]]) -> tuple[int, str]:
    (metric, figure), _ = item
    return (METRICS.index(metric), figure)


def coverage_view(proof: CoverageProof) -> list[Element]:
    names = list(dict.fromkeys(name for row in proof["by"].values() for name in row))
    settings = [
        [words(label), *(Cell(numbers.share(row[name]) if name in row else "") for name in names)]
        for label, row in proof["by"].items()
    ]
    kinds = list(dict.fromkeys((row["metric"], row["figure"]) for row in proof["figures"]))
    noises = {
        noise: {(row["metric"], row["figure"]): row for row in rows}
        for noise, rows in {USUAL: proof["figures"], **proof["noises"]}.items()
    }
    by_noise = [
        [words(metric), words(of), *(_show_coverage(rows.get((metric, of))) for rows in noises.values())]
        for metric, of in kinds
    ]
    low, high = (f"{100 * limit:g}" for limit in COVERAGE)
    return [
        table_of(
            "coverage",
            f"Coverage of 95 % intervals, {proof['experiments']:,} experiments",
            proof["figures"],
            [
                (Column("metric", numeric=False), lambda row: words(row["metric"])),
                (Column("of", numeric=False), lambda row: words(row["figure"])),
                (Column("coverage"), lambda row: Cell(f"{numbers.share(row['coverage'])}{'' if row['ok'] else ' !'}")),
                (Column("error", spare=1), lambda row: Cell(numbers.share(row["error"]))),
                (Column("intervals"), lambda row: whole(row["intervals"])),
                (Column("refused"), lambda row: whole(row["refused"])),
            ],
            heads=2,
        ),
        Table(
            "coverage_by_noise",
            "Coverage by noise, with standard errors",
            [*name_columns("metric", "of"), *map(Column, noises)],
            by_noise,
            heads=2,
        ),
        Table(
            "coverage_by_setting",
            "Coverage by setting, over all kinds of figures",
            [*name_columns("setting"), *map(Column, names)],
            settings,
        ),
        conclude(
            proof["holds"],
            f"Intervals of every kind of figure contain the true value in {low} to {high} % of cases.",
            f"Intervals of a kind of figure contain the true value in less than {low} % or over {high} % of cases.",
        ),
    ]


def _show_coverage(row: Coverage | None) -> Cell:
    return Cell("") if row is None else show_with_error(row["coverage"], row["error"])
