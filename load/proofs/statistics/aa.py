"""A/A experiments: does the comparison report differences between equal systems (one system with several names)?"""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import combinations
from typing import TypedDict

import numpy as np
from scipy import stats

from hops.analysis.comparisons import compare_latencies, correct
from hops.elements.element import Element
from hops.elements.table import Cell, Table, words
from hops.statistics.correction import SIGNIFICANCE, correct_tests
from hops.units import ALL
from proofs.outcome import Progress, conclude
from proofs.statistics.cells import name_columns, rate_columns, show_rate
from proofs.statistics.experiments import (
    METRICS,
    PARTS,
    SAME,
    USUAL,
    Proof,
    Rate,
    is_seldom,
    over_experiments,
    part_intervals,
    rate,
    rounds,
    setting_of,
)
from synthetic.experiment import Simulation

_AA_JOURNEYS = (200, 400, 1200)
"""Possible numbers of journeys in a trial."""


class MetricAA(TypedDict):
    """A metric over all A/A experiments. `tests` counts tests with p below 5 %, before the correction."""

    metric: str
    tests: Rate
    experiments: Rate


class AA(Proof):
    """False differences that A/A experiments showed.

    `experiments` counts experiments with any false difference of a metric; `any_metric` counts experiments with a false
    difference of any metric. `naive_tests` and `naive_experiments` are what Mann-Whitney tests would have shown on the
    pooled journeys of `all`. `parts` counts the parts of hop differences whose intervals exclude 0. `noises` has the
    metrics by kind of noise.
    """

    metrics: list[MetricAA]
    any_metric: Rate
    naive_tests: Rate
    naive_experiments: Rate
    parts: Rate
    noises: dict[str, list[MetricAA]]


def prove_aa(experiments: int, seed: int, progress: Progress = lambda _: None) -> AA:
    """Count false differences between four copies of one system.

    Fails if a metric shows false differences in significantly more than 5 % of the experiments with any kind of noise.
    Each kind of noise other than the usual gets a quarter as many experiments.
    """
    counts = {
        noise: sum(
            over_experiments(partial(_aa, noise=noise), many, seed, progress, before), Counter[tuple[str, str]]()
        )
        for noise, many, before in rounds(experiments)
    }
    usual = counts[USUAL]
    noises = {
        noise: [
            MetricAA(
                metric=name,
                tests=rate(of["low", name], of["tests", name]),
                experiments=rate(of["shown", name], of["experiments", ""]),
            )
            for name in METRICS
        ]
        for noise, of in counts.items()
    }
    return AA(
        holds=is_seldom(row["experiments"] for rows in noises.values() for row in rows),
        experiments=experiments,
        seed=seed,
        metrics=noises.pop(USUAL),
        any_metric=rate(usual["shown", "any"], experiments),
        naive_tests=rate(usual["low", "naive"], usual["tests", "naive"]),
        naive_experiments=rate(usual["shown", "naive"], experiments),
        parts=rate(usual["low", "parts"], usual["tests", "parts"]),
        noises=noises,
    )


def _aa(seed: np.random.SeedSequence, *, noise: str) -> Counter[tuple[str, str]]:
    """For each metric, counts tests, tests with a low p, and whether any is significant after correction."""
    rng = np.random.default_rng(seed)
    simulation = Simulation(setting_of(rng, noise, _AA_JOURNEYS), rng)
    topologies = simulation.experiment(SAME)
    rows = [row for row in compare_latencies(topologies) if row["metric"] in METRICS]
    correct(rows)
    shown = {row["metric"] for row in rows if row["verdict"] in ("left_lower", "right_lower")}
    tests = [(row["metric"], row["p"] < SIGNIFICANCE) for row in rows if row["p"] is not None]
    pooled = {name: side.pool(ALL, sorted(side.blocks)) for name, side in topologies.items()}
    naive = {
        (ALL, left, right): float(stats.mannwhitneyu(pooled[left], pooled[right], method="asymptotic").pvalue)
        for left, right in combinations(pooled, 2)
    }
    if any(result.p < SIGNIFICANCE for result in correct_tests(naive).values()):
        shown.add("naive")
    tests += [("naive", p < SIGNIFICANCE) for p in naive.values()]
    sides = dict.fromkeys(("left", "right"), dict.fromkeys(PARTS, 1.0))
    tests += [("parts", not low <= 0.0 <= high) for _, (low, high), _ in part_intervals(simulation, sides)]
    counts = Counter(("shown", name) for name in shown)
    counts["shown", "any"] = int(bool(shown - {"naive"}))
    counts["experiments", ""] = 1
    for name, low in tests:
        counts["tests", name] += 1
        counts["low", name] += low
    return counts


def aa_view(proof: AA) -> list[Element]:
    columns = name_columns("metric")
    columns += rate_columns("tests with p below 5 %", "experiments with any, corrected")
    rows = [[words(row["metric"]), show_rate(row["tests"]), show_rate(row["experiments"])] for row in proof["metrics"]]
    rows += [
        [words("any of them"), Cell(""), show_rate(proof["any_metric"])],
        [words("Mann-Whitney on `all`"), show_rate(proof["naive_tests"]), show_rate(proof["naive_experiments"])],
        [words("parts of hop differences"), show_rate(proof["parts"]), Cell("")],
    ]
    title = f"False differences in {proof['experiments']:,} A/A experiments, with 95 % intervals"
    return [
        Table("aa", title, columns, rows, totals=3),
        Table(
            "aa_noise",
            "Experiments with any false difference, by noise",
            [*name_columns("noise"), *rate_columns(*METRICS)],
            [
                [words(noise), *(show_rate(row["experiments"]) for row in metrics)]
                for noise, metrics in proof["noises"].items()
            ],
        ),
        conclude(
            proof["holds"],
            "No metric shows false differences in significantly more than 5 % of the experiments.",
            "A metric shows false differences in significantly more than 5 % of the experiments.",
        ),
    ]
