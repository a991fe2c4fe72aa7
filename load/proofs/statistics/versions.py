"""The effect of a slow day on a comparison of versions, and on a comparison of two runs.

Experiments are drawn from a real run of two equal versions: each block of an experiment is a block of that run, whose
two trials may swap places. A day makes everything slower or faster by a factor, which both versions of an experiment
share. Two runs on different days do not share it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TypedDict

import numpy as np
import polars as pl

from hops.analysis.comparisons import latency_pairs
from hops.analysis.latencies import Latencies, latencies_of
from hops.analysis.summary import of_ok
from hops.elements import numbers
from hops.elements.element import Element, Text
from hops.elements.table import Cell, Column, Table, whole, words
from hops.errors import NotEnoughDataError
from hops.kinds.compare_versions.analysis import A, B, version_rows
from hops.kinds.compare_versions.tables import LARGE_MS
from hops.kinds.two_runs.analysis import Threshold, judge_runs
from hops.run.files import RunFiles
from proofs.outcome import Progress
from proofs.statistics.cells import name_columns, rate_columns, show_rate
from proofs.statistics.experiments import DEFAULT, Proof, Rate, is_seldom, over_experiments, rate
from synthetic.experiment import Noise, Setting, Simulation

LENGTH_S = 1800.0
"""Seconds of an experiment, which determine its number of blocks."""
DAY, SLOWER, POWER = 0.1, 1.1, 0.8
"""Standard deviation of a day's factor; slowness of a part; share of experiments that must show it."""
DAYS, BLOCKS = (0.05, 0.1), (6, 12, 24)
"""Day effects and numbers of blocks for pairs of runs on two days."""
THRESHOLD = Threshold(0.1)


class OfPart(TypedDict):
    """How often a part that is 10 % slower is shown to be slower; `ms` is its mean."""

    part: str
    ms: float
    found: Rate


class OfDays(TypedDict):
    """How often `compare-runs threshold=10%` calls equal code slower, by day effect and number of blocks."""

    day: float
    blocks: int
    alarms: Rate


class VersionsProof(Proof):
    """Both comparisons; the proof holds if equal versions differ in at most 5 % and slower parts are found in 80 %."""

    blocks: int
    false: Rate
    parts: list[OfPart]
    days: list[OfDays]


@dataclass(frozen=True, slots=True)
class SourceRows:
    """Rows to draw from.

    Args:
        trials: Journeys and hops of each version's trial, by block of the run.
        load: Frequency of each journey in the load.
        parts: Means of the parts that are large enough to find, ms.
        blocks: Number of blocks of an experiment.
    """

    trials: Mapping[int, Mapping[str, tuple[pl.DataFrame, pl.DataFrame]]]
    load: Mapping[str, float]
    parts: Mapping[str, float]
    blocks: int


def rows_to_draw(run: RunFiles) -> SourceRows:
    """Reads a run of two equal versions. Raises NotEnoughDataError if it is no such run, or all parts are small."""
    checkouts = run.manifest.get("checkouts", {})
    if len({one["commit"] for one in checkouts.values()}) != 1 or run.manifest["delay_b"]:
        raise NotEnoughDataError(
            f"{run.path}: not a comparison of equal versions; make one with `make compare-versions a=HEAD b=HEAD`"
        )
    hops = of_ok(run, run.hops)
    trials: dict[int, dict[str, tuple[pl.DataFrame, pl.DataFrame]]] = {}
    for record in run.used:
        block, side = record["block"], record["topology"]
        journeys = run.journeys.filter((pl.col("block") == block) & (pl.col("topology") == side))
        trials.setdefault(block, {})[side] = journeys, hops[side].filter(pl.col("block") == block)
    length_s = float(np.mean([sum(record["phases_s"].values()) for record in run.used]))
    load = dict(run.journeys.group_by("journey").len().iter_rows())
    both = {side: latencies_of(run.journeys.filter(pl.col("topology") == side)) for side in (A, B)}
    means = {row["what"]: float(row["a"] or 0.0) for row in version_rows(both, hops, load)}
    known = set(run.hops["part"].unique())
    parts = {name: ms for name, ms in means.items() if ms >= LARGE_MS and name in known}
    if not parts:
        raise NotEnoughDataError(
            f"{run.path}: no part of the hop budget takes {LARGE_MS:g} ms or more; compare versions of another topology"
        )
    return SourceRows(trials, load, parts, round(LENGTH_S / 2 / length_s))


def prove_versions(run: RunFiles, experiments: int, seed: int, progress: Progress = lambda _: None) -> VersionsProof:
    """Counts false and found differences, in experiments drawn from a run of two equal versions.

    Raises:
        NotEnoughDataError: The run does not compare two equal versions.
    """
    drawn = rows_to_draw(run)
    shown = list(over_experiments(partial(draw_experiment, drawn), experiments, seed, progress))
    false = rate(sum(bool(one[""]) for one in shown), experiments)
    parts = [
        OfPart(part=part, ms=ms, found=rate(sum(part in one[part] for one in shown), experiments))
        for part, ms in drawn.parts.items()
    ]
    days = []
    for day, count in product(DAYS, BLOCKS):
        alarms = over_experiments(partial(compare_days, day, count), experiments, seed)
        days.append(OfDays(day=day, blocks=count, alarms=rate(sum(alarms), experiments)))
    holds = is_seldom([false]) and all(row["found"]["rate"] >= POWER for row in parts)
    return VersionsProof(
        holds=holds, experiments=experiments, seed=seed, blocks=drawn.blocks, false=false, parts=parts, days=days
    )


def draw_experiment(drawn: SourceRows, seed: np.random.SeedSequence) -> dict[str, set[str]]:
    """Draws an experiment; returns the differences shown between equal versions (key ""), and with each part slower."""
    rng = np.random.default_rng(seed)
    day = float(np.exp(rng.normal(0, DAY)))
    rows: dict[str, list[tuple[pl.DataFrame, pl.DataFrame]]] = {A: [], B: []}
    for block, source in enumerate(rng.choice(list(drawn.trials), drawn.blocks), 1):
        sides = rng.permutation(list(drawn.trials[source]))
        for side, given in zip(rows, sides, strict=True):
            journeys, hops = drawn.trials[source][given]
            number = pl.lit(block, pl.Int32).alias("block")
            rows[side].append(
                (
                    journeys.with_columns(number, pl.col("latency_ns") * day),
                    hops.with_columns(number, pl.col("ns") * day),
                )
            )
    latencies = {side: latencies_of(pl.concat([of for of, _ in some])) for side, some in rows.items()}
    parts = {side: pl.concat([of for _, of in some]) for side, some in rows.items()}
    shown = {"": _differences(drawn, latencies, parts, ("slower", "faster"))}
    for name in drawn.parts:
        longer = pl.when(pl.col("part") == name).then(pl.col("ns") * SLOWER).otherwise("ns").alias("ns")
        shown[name] = _differences(drawn, latencies, {**parts, B: parts[B].with_columns(longer)}, ("slower",))
    return shown


def _differences(
    drawn: SourceRows, latencies: Mapping[str, Latencies], hops: Mapping[str, pl.DataFrame], verdicts: tuple[str, ...]
) -> set[str]:
    return {row["what"] for row in version_rows(latencies, hops, drawn.load) if row["verdict"] in verdicts}


def compare_days(day: float, blocks: int, seed: np.random.SeedSequence) -> bool:
    """Whether equal code on two days counts as slower by more than the threshold."""
    rng = np.random.default_rng(seed)
    simulation = Simulation(Setting(blocks, DEFAULT[1], Noise()), rng)
    before, after = (simulation.experiment({side: float(np.exp(rng.normal(0, day)))})[side] for side in (A, B))
    pairs = latency_pairs(after, before, sorted(after.blocks), sorted(before.blocks))
    rows = judge_runs([(A, B, pair) for pair in pairs], THRESHOLD)
    return any(row["regression"] == "shown" for row in rows)


def versions_view(proof: VersionsProof) -> list[Element]:
    day, slower = numbers.share(DAY, 0), numbers.share(SLOWER - 1, 0)
    parts = [
        [words(row["part"]), Cell(f"{row['ms']:.1f}", row["ms"]), show_rate(row["found"])] for row in proof["parts"]
    ]
    days = [
        [Cell(numbers.share(row["day"], 0)), whole(row["blocks"]), show_rate(row["alarms"])] for row in proof["days"]
    ]
    return [
        Table(
            "found_parts",
            f"Experiments of {proof['blocks']} blocks in which a part that is {slower} slower is found",
            [*name_columns("part"), Column("mean", "ms"), *rate_columns("found")],
            parts,
        ),
        Table(
            "days",
            "Pairs of runs with equal code on two days that compare-runs threshold=10% calls slower",
            [Column("day effect"), Column("blocks"), *rate_columns("alarms")],
            days,
        ),
        Text(
            f"Equal versions show any difference in {100 * proof['false']['rate']:.1f} % "
            f"({numbers.interval([100 * end for end in proof['false']['ci95']])}) of {proof['experiments']:,} "
            f"experiments with a day effect of {day}; "
            + (
                f"each part of {LARGE_MS:g} ms or more that is {slower} slower is found in at least {100 * POWER:g} %."
                if proof["holds"]
                else f"that is over 5 %, or a part that is {slower} slower is found in less than {100 * POWER:g} %."
            ),
            tone="verdict",
        ),
    ]
