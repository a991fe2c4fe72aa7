"""Synthetic experiments with a known truth, analysed by the code that reports use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import Any, TypedDict

import numpy as np
from scipy import stats

from hops.analysis.hop_differences import hop_differences
from hops.statistics.correction import SIGNIFICANCE
from hops.statistics.over_blocks import MEAN
from hops.units import ALL
from proofs.outcome import Progress
from synthetic.experiment import Noise, Setting, Simulation, draw_setting
from synthetic.shapes import Bimodal, Pareto

METRICS = ("mean", "p50", "p90", "p95", "p99")
COVERAGE = (0.93, 0.97)
"""Limits of how often 95 % intervals must contain the true value."""
_ALONE = 40
"""Maximum number of experiments that run in a single process; a larger number runs on all cores."""
_CHUNK = 10

SAME = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}
"""The system of the A/A experiments, under four names."""
PARTS = ("work:order", "db:order", "work:user", "wire:graphql-gateway→user", "proxy:edge")
"""Parts of the traced journeys."""
_TRACED = 0.2
_BLOCKS = (3, 4, 5, 6, 8, 10, 12)
"""Numbers of blocks in the experiments on coverage and on false differences."""

DEFAULT = (12, 400)
"""Default blocks, and journeys in a trial; at 20 a second they take 20 s."""
USUAL = "usual"
SHIFTED = Noise(block=0.05, trial=0.05)
"""Blocks and trials shift by 5 % each, as on a shared machine."""
NOISES = {
    "heavy tails, Pareto 2.2": replace(SHIFTED, shape=Pareto(2.2)),
    "bimodal, 3 in 10 take 3 times as long": replace(SHIFTED, shape=Bimodal()),
    "correlation 0.7": replace(SHIFTED, correlation=0.7),
    "1 trial in 4 slow by 30 %": replace(SHIFTED, slow_trials=0.25),
}
"""Kinds of noise other than the usual."""


class Proof(TypedDict):
    """The results that all proofs with experiments have in common."""

    holds: bool
    experiments: int
    seed: int


class Rate(TypedDict):
    """How often something happened, with the 95 % Clopper-Pearson interval."""

    count: int
    of: int
    rate: float
    ci95: list[float]


def rate(count: int, of: int) -> Rate:
    ends = stats.binomtest(count, of).proportion_ci(method="exact") if of else (0.0, 1.0)
    return Rate(count=count, of=of, rate=count / of if of else 0.0, ci95=[float(ends[0]), float(ends[1])])


def is_seldom(rates: Iterable[Rate]) -> bool:
    """Whether none of these events happened in significantly more than 5 % of cases."""
    return all(one["ci95"][0] <= SIGNIFICANCE for one in rates)


def experiments_in(experiments: int) -> int:
    """Returns the total number of experiments of a proof, over the usual and all other kinds of noise."""
    return sum(many for _, many, _ in rounds(experiments))


def rounds(experiments: int) -> Iterator[tuple[str, int, int]]:
    """Yields each kind of noise, its number of experiments, and the number of experiments before it."""
    before = 0
    for noise, many in ((USUAL, experiments), *((noise, -(-experiments // 4)) for noise in NOISES)):
        yield noise, many, before
        before += many


def over_experiments(
    one: Callable[[np.random.SeedSequence], Any],
    experiments: int,
    seed: int,
    progress: Progress = lambda _: None,
    before: int = 0,
) -> Iterator[Any]:
    """Runs experiments, on all cores if there are many; `one` must be picklable, and `before` have finished already."""
    for done, result in enumerate(_each(one, np.random.SeedSequence(seed).spawn(experiments)), before + 1):
        yield result
        progress(done)


def _each(one: Callable[[np.random.SeedSequence], Any], seeds: Sequence[np.random.SeedSequence]) -> Iterator[Any]:
    if len(seeds) <= _ALONE:
        yield from map(one, seeds)
        return
    # A fork would copy the locks of the loaded libraries' threads.
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        yield from pool.map(one, seeds, chunksize=_CHUNK)


def setting_of(rng: np.random.Generator, noise: str, journeys: Sequence[int]) -> Setting:
    """Draws a setting of an experiment with this noise."""
    drawn = draw_setting(rng, blocks=_BLOCKS, journeys=journeys)
    return drawn if noise == USUAL else replace(drawn, noise=NOISES[noise])


def part_intervals(
    simulation: Simulation, sides: Mapping[str, Mapping[str, float]]
) -> Iterator[tuple[str, tuple[float, float], float]]:
    """Yields the parts of hop differences, each with its interval and true difference; `sides` has the slow parts."""
    blocks = set(range(1, simulation.setting.blocks + 1))
    rows = hop_differences(simulation.hops(sides, _TRACED), simulation.counts(), dict.fromkeys(sides, blocks))
    truth = simulation.truth(1.0)
    left, right = sides.values()
    for row in rows:
        if row["journey"] == ALL and len(rows) <= len(simulation.counts()):
            continue  # a journey without a trace has no weight in `all`, which changes the true value of `all`
        for part in row["parts"]:
            low, high = part["ci95"]
            if low is not None and high is not None:
                name = part["part"]
                share = (left[name] - right[name]) / len(PARTS)
                yield name, (low, high), truth[row["journey"]][MEAN] * share
