"""Do equal sets of traces show differences, and do limits at the true long-run figures count as broken?"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TypedDict

import numpy as np
import polars as pl

from hops.analysis.of_traces.limits import Limit, check
from hops.analysis.of_traces.sets import METRICS, compare_sets
from hops.analysis.of_traces.timelines import TOTAL, Timeline
from hops.elements.element import Element
from hops.elements.table import Column, Table, whole, words
from hops.units import ALL
from proofs.outcome import Progress, conclude
from proofs.statistics.cells import name_columns, rate_columns, show_rate
from proofs.statistics.experiments import NOISES, PARTS, USUAL, Rate, is_seldom, over_experiments, rate, rounds
from synthetic.experiment import Setting, Simulation, draw_setting

_PERIODS = (24, 48)
"""Numbers of periods in a set; all traces of a period share a shift."""
_JOURNEYS = (40, 120)
"""Possible numbers of journeys in a period."""


class SetsRate(TypedDict):
    """Rates with one kind of noise: pairs that show any difference, and limit files with a broken limit."""

    noise: str
    different: Rate
    broken: Rate


class SetsProof(TypedDict):
    """Results of pairs of equal sets, and of limit files with the true values."""

    holds: bool
    pairs: int
    seed: int
    noises: list[SetsRate]


def prove_trace_sets(pairs: int, seed: int, progress: Progress = lambda _: None) -> SetsProof:
    """Compare equal sets of traces, and check limits that equal their true figures.

    Fails if significantly more than 5 % of the pairs differ, or of the files have a broken limit. Each kind of noise
    other than the usual gets a quarter as many pairs.
    """
    noises = []
    for noise, many, before in rounds(pairs):
        counts = sum(over_experiments(partial(_pair, noise=noise), many, seed, progress, before), Counter[str]())
        noises.append(
            SetsRate(noise=noise, different=rate(counts["different"], many), broken=rate(counts["broken"], many))
        )
    rates = [row[name] for row in noises for name in ("different", "broken")]
    return SetsProof(holds=is_seldom(rates), pairs=pairs, seed=seed, noises=noises)


def _pair(seed: np.random.SeedSequence, *, noise: str) -> Counter[str]:
    rng = np.random.default_rng(seed)
    setting = draw_setting(rng, blocks=_PERIODS, journeys=_JOURNEYS)
    if noise != USUAL:
        setting = Setting(setting.blocks, setting.journeys, NOISES[noise])
    simulation = Simulation(setting, rng)
    a, b = _timelines(simulation), _timelines(simulation)
    truth = simulation.truth(1.0)
    limits = [
        Limit(name, TOTAL, metric, truth[name][metric], ("", "", "")) for name in a if name != ALL for metric in METRICS
    ]
    different = any(row.verdict in ("slower", "faster") for row in compare_sets(a, b).figures)
    broken = any(row.state == "broken" for row in check(limits, a))
    return Counter(different=int(different), broken=int(broken))


def _timelines(simulation: Simulation) -> dict[str, Timeline]:
    """Makes the timelines of a set of traces; its periods are different from those of every other set."""
    (hops,) = simulation.hops({"set": dict.fromkeys(PARTS, 1.0)}, 1.0).values()
    timelines = {}
    for (name,), rows in sorted(hops.partition_by("journey", as_dict=True).items()):
        parts = {part: rows.filter(pl.col("part") == part)["ms"].to_numpy() for part in PARTS}
        timelines[str(name)] = Timeline(np.sum([*parts.values()], axis=0), parts)
    return timelines


def sets_view(proof: SetsProof) -> list[Element]:
    columns = [*name_columns("noise"), Column("pairs"), *rate_columns("different", "limits broken")]
    rows = [
        [words(row["noise"]), whole(row["different"]["of"]), show_rate(row["different"]), show_rate(row["broken"])]
        for row in proof["noises"]
    ]
    return [
        Table(
            "trace_sets", "Pairs of equal sets that show any difference, and files with any broken limit", columns, rows
        ),
        conclude(
            proof["holds"],
            "With every kind of noise, neither happens in significantly more than 5 % of cases.",
            "With a kind of noise, one of them happens in significantly more than 5 % of cases.",
        ),
    ]
