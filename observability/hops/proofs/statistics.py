"""Are the statistics right? Synthetic experiments, whose truth is known, go through the code that reports use."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import combinations, pairwise
from multiprocessing import get_context
from typing import Any, TypedDict

import numpy as np
from scipy import stats

from hops.analysis.comparisons import SIGNIFICANCE, compare_latencies, correct
from hops.statistics.contrast import contrast
from hops.statistics.holm import holm
from hops.synthetic.experiment import Noise, Setting, Simulation, draw_setting
from hops.units import ALL

METRICS = ("mean", "p50", "p90", "p95", "p99")
#: 95 % intervals must contain the true value this often.
COVERAGE = (0.93, 0.97)
#: Where more experiments than this are asked for, all cores share them.
_ALONE = 40
_CHUNK = 10

#: Of the A/A experiments: one system under four names.
SAME = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}
#: Of the experiments on coverage: the right one is slower by a quarter.
DIFFERENT = {"left": 1.0, "right": 1.25}
#: Of the experiments on power: each topology is slower than the one before by such a step.
STEPS = (0.05, 0.1, 0.2, 0.3)
#: Standard deviations of the logarithms of what shifts a block, and of what shifts a trial.
SHIFTS = ((0.02, 0.02), (0.05, 0.05), (0.2, 0.05))
_FREQUENT = ("browse", "product")
_POWER_BLOCKS, _POWER_JOURNEYS = 5, 1200


class Rate(TypedDict):
    """How often something happened, with the 95 % interval of Clopper and Pearson."""

    count: int
    of: int
    rate: float
    ci95: list[float]


class MetricAA(TypedDict):
    """One metric over all A/A experiments. `tests` are those with p below 5 %, before Holm's correction."""

    metric: str
    tests: Rate
    experiments: Rate


class AA(TypedDict):
    """What A/A experiments showed although there is nothing to show.

    `experiments` are those with any false difference of a metric; `any_metric` those with one of any metric. `naive`
    is what Mann and Whitney's p would have shown, from the pooled journeys of `all`.
    """

    holds: bool
    experiments: int
    seed: int
    metrics: list[MetricAA]
    any_metric: Rate
    naive_tests: Rate
    naive_experiments: Rate


class Coverage(TypedDict):
    """How often intervals of one metric contained the true value, by what they are of, and how many were refused."""

    metric: str
    figure: str
    held: int
    intervals: int
    coverage: float
    error: float
    refused: int
    ok: bool


class CoverageProof(TypedDict):
    """Coverage over all experiments; `by` tells it apart by number of blocks, by shift, and by journeys in a block."""

    holds: bool
    experiments: int
    seed: int
    figures: list[Coverage]
    by: dict[str, dict[str, float]]


class Power(TypedDict):
    """How often a step between neighbouring topologies is detected, where blocks and trials shift by so much.

    `all_mean` counts pairs of `all` by the mean, `frequent_p50` those of the frequent journeys by the median.
    """

    step: float
    block_shift: float
    trial_shift: float
    all_mean: Rate
    frequent_p50: Rate


class PowerProof(TypedDict):
    """What experiments of the default size can show; it has no limit, so it always holds."""

    holds: bool
    experiments: int
    seed: int
    cells: list[Power]


#: (metric, what the interval is of) -> (intervals that hold the truth, intervals, figures without one).
Held = dict[tuple[str, str], tuple[int, int, int]]
Progress = Callable[[int], None]


def prove_aa(experiments: int, seed: int, progress: Progress = lambda _: None) -> AA:
    """Compares four topologies that are one and the same.

    It holds unless a metric shows false differences in significantly more than 5 % of the experiments: the whole
    95 % interval of their share lies above.

    Args:
        experiments: how many.
        seed: same seed, same result.
        progress: called with the number of experiments that are done.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for done, one in enumerate(_all(_aa, experiments, seed), 1):
        counts.update(one)
        progress(done)

    def tests(name: str) -> Rate:
        return rate(counts["low", name], counts["tests", name])

    metrics = [
        MetricAA(metric=name, tests=tests(name), experiments=rate(counts["shown", name], experiments))
        for name in METRICS
    ]
    return AA(
        holds=all(row["experiments"]["ci95"][0] <= SIGNIFICANCE for row in metrics),
        experiments=experiments,
        seed=seed,
        metrics=metrics,
        any_metric=rate(counts["shown", "any"], experiments),
        naive_tests=tests("naive"),
        naive_experiments=rate(counts["shown", "naive"], experiments),
    )


def prove_coverage(experiments: int, seed: int, progress: Progress = lambda _: None) -> CoverageProof:
    """Counts how often 95 % intervals hold a known truth; the proof holds if each kind of figure does in 93 to 97 %.

    Args:
        experiments: how many.
        seed: same seed, same result.
        progress: called with the number of experiments that are done.
    """
    held: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    by: dict[str, list[int]] = {}
    for done, (experiment, labels) in enumerate(_all(_coverage, experiments, seed), 1):
        for key, counts in experiment.items():
            held.setdefault(key, []).append(counts)
            for label in labels:
                sums = by.setdefault(f"{label}|{key[0]}", [0, 0])
                sums[0] += counts[0]
                sums[1] += counts[1]
        progress(done)
    figures = [_covered(metric, figure, np.array(rows)) for (metric, figure), rows in sorted(held.items(), key=_order)]
    shares: dict[str, dict[str, float]] = {}
    for key, (hits, of) in sorted(by.items()):
        label, metric = key.split("|")
        if of:
            shares.setdefault(label, {})[metric] = hits / of
    return CoverageProof(
        holds=all(row["ok"] for row in figures), experiments=experiments, seed=seed, figures=figures, by=shares
    )


def measure_power(experiments: int, seed: int, progress: Progress = lambda _: None) -> PowerProof:
    """Counts how often true differences are shown, in experiments of four topologies and five blocks.

    Args:
        experiments: how many for each step and shift.
        seed: same seed, same result.
        progress: called with the number of experiments that are done.
    """
    cells: list[Power] = []
    for step in STEPS:
        for block, trial in SHIFTS:
            one = partial(_power, step=step, noise=Noise(block=block, trial=trial))
            sums = Counter[str]()
            for counts in _all(one, experiments, seed):
                sums.update(counts)
                progress(len(cells) * experiments + sums["experiments"])
            cells.append(
                Power(
                    step=step,
                    block_shift=block,
                    trial_shift=trial,
                    all_mean=rate(sums["all shown"], sums["all"]),
                    frequent_p50=rate(sums["frequent shown"], sums["frequent"]),
                )
            )
    return PowerProof(holds=True, experiments=experiments, seed=seed, cells=cells)


def rate(count: int, of: int) -> Rate:
    """A share with its interval."""
    ends = stats.binomtest(count, of).proportion_ci(method="exact") if of else (0.0, 1.0)
    return Rate(count=count, of=of, rate=count / of if of else 0.0, ci95=[float(ends[0]), float(ends[1])])


def _all(one: Callable[[np.random.SeedSequence], Any], experiments: int, seed: int) -> Iterator[Any]:
    seeds = np.random.SeedSequence(seed).spawn(experiments)
    if experiments <= _ALONE:
        yield from map(one, seeds)
        return
    # A fork would copy the threads' locks of the libraries that are loaded.
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        yield from pool.map(one, seeds, chunksize=_CHUNK)


def _aa(seed: np.random.SeedSequence) -> Counter[tuple[str, str]]:
    """Of one experiment and each metric: tests, those with a low p, and whether any is shown after Holm."""
    rng = np.random.default_rng(seed)
    setting = draw_setting(rng, blocks=(3, 5, 5, 5, 8), journeys=(400, 1200))
    topologies = Simulation(setting, rng).experiment(SAME)
    rows = [row for row in compare_latencies(topologies) if row["metric"] in METRICS]
    correct(rows)
    shown = {row["metric"] for row in rows if row["verdict"] in ("left_lower", "right_lower")}
    tests = [(row["metric"], row["p"]) for row in rows if row["p"] is not None]
    pooled = [side.pooled(ALL, sorted(side.blocks)) for side in topologies.values()]
    naive = {
        index: float(stats.mannwhitneyu(left, right, method="asymptotic").pvalue)
        for index, (left, right) in enumerate(combinations(pooled, 2))
    }
    if any(p < SIGNIFICANCE for p in holm(naive).values()):
        shown.add("naive")
    counts = Counter(("shown", name) for name in shown)
    counts["shown", "any"] = int(bool(shown - {"naive"}))
    for name, p in (*tests, *(("naive", p) for p in naive.values())):
        counts["tests", name] += 1
        counts["low", name] += p < SIGNIFICANCE
    return counts


def _power(seed: np.random.SeedSequence, *, step: float, noise: Noise) -> Counter[str]:
    rng = np.random.default_rng(seed)
    names = list(SAME)
    factors = {name: (1 + step) ** place for place, name in enumerate(names)}
    topologies = Simulation(Setting(_POWER_BLOCKS, _POWER_JOURNEYS, noise), rng).experiment(factors)
    neighbours = set(pairwise(names))
    counts = Counter(experiments=1)
    rows = compare_latencies(topologies)
    correct(rows)
    for row in rows:
        if (row["left"], row["right"]) not in neighbours:
            continue
        if (row["journey"], row["metric"]) == (ALL, "mean"):
            kind = "all"
        elif row["journey"] in _FREQUENT and row["metric"] == "p50":
            kind = "frequent"
        else:
            continue
        counts[kind] += 1
        counts[f"{kind} shown"] += row["verdict"] == "left_lower"
    return counts


def _coverage(seed: np.random.SeedSequence) -> tuple[Held, Sequence[str]]:
    """Of one experiment: how often intervals held the truth, and the labels of its setting."""
    rng = np.random.default_rng(seed)
    setting = draw_setting(rng, blocks=(3, 4, 5, 5, 5, 8), journeys=(200, 600, 1500, 5000))
    simulation = Simulation(setting, rng)
    sides = simulation.experiment(DIFFERENT)
    truths = {name: simulation.truth(factor) for name, factor in DIFFERENT.items()}
    blocks = range(1, setting.blocks + 1)
    counts: Held = {}

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
    noise = setting.noise
    labels = (
        f"{setting.blocks} blocks",
        f"blocks shifted by {noise.block:.0%}",
        f"{setting.journeys} journeys in a block",
        f"sigma {noise.sigma}",
        f"correlation {noise.correlation}",
    )
    return counts, labels


def _covered(metric: str, figure: str, rows: Any) -> Coverage:
    held, intervals, refused = (int(one) for one in rows.sum(axis=0))
    share = held / intervals if intervals else float("nan")
    # Intervals of one experiment hold the truth together or not at all: the scatter is that of experiments.
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
