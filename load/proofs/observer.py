"""Do intervals of the observer effect hold 0 where there is none? On the journeys of a real run that nobody traced."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TypedDict

import numpy as np
import polars as pl
from scipy import stats

from hops.analysis.observer import observer_effect_of
from hops.elements.element import Element, Text
from hops.elements.table import Cell, Column, Table, words
from hops.errors import NotEnoughDataError
from hops.run.files import RunFiles
from hops.statistics.correction import SIGNIFICANCE
from hops.tables.observer import PLACES
from hops.units import ALL
from proofs.cells import show_rate
from proofs.experiments import Progress, Rate, over_experiments, rate

LIMIT = 0.06
"""Largest share of the draws whose interval may leave out 0."""
SHARE = 0.2
"""Share of the journeys that a draw calls sampled: the default of `trace=`."""


class OfPlace(TypedDict):
    """How often the intervals of one place of a topology, `all` being all of it, left out 0."""

    topology: str
    place: str
    left_out: Rate


class ObserverProof(TypedDict):
    """All places; it holds if each one `is_within_limit`."""

    holds: bool
    draws: int
    seed: int
    journeys: int
    places: list[OfPlace]


def prove_observer(run: RunFiles, draws: int, seed: int, progress: Progress = lambda _: None) -> ObserverProof:
    """Calls some of the journeys that nobody traced sampled, and looks for what that adds.

    Args:
        run: Files of the run.
        draws: How often to draw.
        seed: Seed; the same one gives the same draws.
        progress: Called with the number of draws that are done.

    Raises:
        NotEnoughDataError: The run has too few journeys that nobody traced.
    """
    untraced = run.journeys.filter(~pl.col("sampled") & (pl.col("outcome") == "ok"))
    alone = replace(
        run, journeys=untraced, hops=run.hops.clear(), resources=run.resources.clear(), calls=run.calls.clear()
    )
    counts = sum(over_experiments(partial(one_draw, alone), draws, seed, progress), Counter[tuple[str, str, str]]())
    places = [
        OfPlace(topology=topology, place=place, left_out=rate(counts[topology, place, "left out"], of))
        for (topology, place, what), of in counts.items()
        if what == "of"
    ]
    if not places:
        raise NotEnoughDataError(
            f"{run.path}: only {untraced.height:,} journeys ended ok and untraced, too few to draw from"
        )
    holds = all(is_within_limit(row["left_out"], len(places)) for row in places)
    return ObserverProof(holds=holds, draws=draws, seed=seed, journeys=untraced.height, places=places)


def is_within_limit(left_out: Rate, places: int) -> bool:
    """Whether intervals leave out 0 in at most 6 % of the draws, or in no more than chance makes of 5 %.

    Args:
        left_out: How often they do.
        places: How many places are looked at: chance has 5 % for all of them together.
    """
    of_chance = stats.binomtest(left_out["count"], left_out["of"], SIGNIFICANCE, alternative="greater").pvalue
    return bool(left_out["rate"] <= LIMIT or of_chance > SIGNIFICANCE / places)


def one_draw(run: RunFiles, seed: np.random.SeedSequence) -> Counter[tuple[str, str, str]]:
    """Of one draw, by topology and place: intervals, and those that leave out 0.

    Args:
        run: Files of the run, without its traced journeys.
        seed: Seed of the draw. As the generator does, it draws anew for each journey of each trial.
    """
    rng = np.random.default_rng(seed)
    sampled = pl.Series("sampled", rng.random(run.journeys.height) < SHARE)
    effect = observer_effect_of(
        replace(run, journeys=run.journeys.with_columns(sampled)), seed=int(rng.integers(2**32))
    )
    counts: Counter[tuple[str, str, str]] = Counter()
    for topology, row in effect["topologies"].items():
        places = {
            ALL: row["ci95"],
            **{place["place"]: place["ci95"] for place in row["places"] if place["place"] != ALL},
        }
        for place, (low, high) in places.items():
            if low is not None or high is not None:
                counts[topology, place, "of"] += 1
                counts[topology, place, "left out"] += (low or 0.0) > 0 or (high or 0.0) < 0
    return counts


def observer_view(proof: ObserverProof) -> list[Element]:
    """How often intervals of the observer effect left out 0 where nothing was traced, for people."""
    rates = {(row["topology"], row["place"]): show_rate(row["left_out"]) for row in proof["places"]}
    places = [place for place in dict.fromkeys((ALL, *PLACES)) if any(place == there for _, there in rates)]
    rows = [
        [words(topology), *(rates.get((topology, place), Cell("")) for place in places)]
        for topology in dict.fromkeys(topology for topology, _ in rates)
    ]
    columns = [Column("topology", numeric=False), *(Column(PLACES[place], "%", interval=True) for place in places)]
    title = f"Draws whose interval leaves out 0, of {proof['draws']:,}, with 95 % intervals"
    limit = f"{100 * LIMIT:g} %"
    return [
        Table("observer_draws", title, columns, rows),
        Text(
            f"Of the {proof['journeys']:,} journeys that nobody traced, each draw calls a fifth sampled. "
            + (
                f"In no place do intervals leave out 0 in more than {limit} of the draws, unless by chance."
                if proof["holds"]
                else f"In a place intervals leave out 0 in more than {limit} of the draws, beyond chance."
            ),
            tone="verdict",
        ),
    ]
