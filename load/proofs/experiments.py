"""Synthetic experiments, whose truth is known and which go through the code that reports use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import Any, TypedDict

import numpy as np
from scipy import stats

from hops.analysis.hop_differences import hop_differences
from hops.statistics.over_blocks import MEAN
from hops.units import ALL
from synthetic.experiment import Noise, Setting, Simulation, draw_setting
from synthetic.shapes import Bimodal, Pareto

METRICS = ("mean", "p50", "p90", "p95", "p99")
COVERAGE = (0.93, 0.97)
"""95 % intervals must contain the true value this often."""
_ALONE = 40
"""Most experiments that one process runs alone; all cores share more."""
_CHUNK = 10

SAME = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}
"""The one system of the A/A experiments, under four names."""
PARTS = ("work:order", "db:order", "work:user", "wire:graphql-gateway→user", "proxy:edge")
"""Parts of the traced journeys."""
_TRACED = 0.2
_BLOCKS = (3, 4, 5, 6, 8, 10, 12)
"""Numbers of blocks, of the experiments on coverage and on false differences."""

DEFAULT = (12, 400)
"""Blocks, and journeys in a trial, where a row says nothing else; at 20 a second they take 20 s."""
USUAL = "usual"
SHIFTED = Noise(block=0.05, trial=0.05)
"""Blocks and trials that are shifted by 5 % each, as on a shared machine."""
NOISES = {
    "heavy tails, Pareto 2.2": replace(SHIFTED, shape=Pareto(2.2)),
    "bimodal, 3 in 10 take 3 times as long": replace(SHIFTED, shape=Bimodal()),
    "correlation 0.7": replace(SHIFTED, correlation=0.7),
    "1 trial in 4 slow by 30 %": replace(SHIFTED, slow_trials=0.25),
}
"""Noise beyond the usual."""

Progress = Callable[[int], None]


class Rate(TypedDict):
    """How often something happened, with the 95 % interval of Clopper and Pearson."""

    count: int
    of: int
    rate: float
    ci95: list[float]


def rate(count: int, of: int) -> Rate:
    """A share with its interval."""
    ends = stats.binomtest(count, of).proportion_ci(method="exact") if of else (0.0, 1.0)
    return Rate(count=count, of=of, rate=count / of if of else 0.0, ci95=[float(ends[0]), float(ends[1])])


def experiments_in(experiments: int) -> int:
    """How many experiments a proof makes in all, with the usual noise and each other one."""
    return sum(many for _, many, _ in rounds(experiments))


def rounds(experiments: int) -> Iterator[tuple[str, int, int]]:
    """The kinds of noise, how many experiments there are of each, and how many are done before."""
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
    """Runs experiments, each with a seed of its own, on all cores if there are many.

    Args:
        one: Runs one experiment; can be pickled.
        experiments: How many experiments to run.
        seed: Seed; the same one gives the same experiments.
        progress: Called with the number of experiments that are done.
        before: How many were done before.
    """
    for done, result in enumerate(_each(one, np.random.SeedSequence(seed).spawn(experiments)), before + 1):
        yield result
        progress(done)


def _each(one: Callable[[np.random.SeedSequence], Any], seeds: Sequence[np.random.SeedSequence]) -> Iterator[Any]:
    if len(seeds) <= _ALONE:
        yield from map(one, seeds)
        return
    # A fork would copy the threads' locks of the libraries that are loaded.
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        yield from pool.map(one, seeds, chunksize=_CHUNK)


def setting_of(rng: np.random.Generator, noise: str, journeys: Sequence[int]) -> Setting:
    """A setting of an experiment, drawn, with this noise."""
    drawn = draw_setting(rng, blocks=_BLOCKS, journeys=journeys)
    return drawn if noise == USUAL else replace(drawn, noise=NOISES[noise])


def part_intervals(
    simulation: Simulation, sides: Mapping[str, Mapping[str, float]]
) -> Iterator[tuple[str, tuple[float, float], float]]:
    """Of the hop differences of one experiment: each part with its interval, and the true difference.

    Args:
        simulation: Simulation of the experiment.
        sides: How slow each part is, of the two topologies.
    """
    blocks = set(range(1, simulation.setting.blocks + 1))
    rows = hop_differences(simulation.hops(sides, _TRACED), simulation.counts(), dict.fromkeys(sides, blocks))
    truth = simulation.truth(1.0)
    left, right = sides.values()
    for row in rows:
        if row["journey"] == ALL and len(rows) <= len(simulation.counts()):
            continue  # A journey without a trace weighs nothing in `all`, whose truth is another one then.
        for part in row["parts"]:
            low, high = part["ci95"]
            if low is not None and high is not None:
                name = part["part"]
                share = (left[name] - right[name]) / len(PARTS)
                yield name, (low, high), truth[row["journey"]][MEAN] * share
