"""Do intervals of the observer effect include 0 without an effect? Tested on untraced journeys of a real run."""

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
from hops.elements.table import Cell, Table, words
from hops.errors import NotEnoughDataError
from hops.run.files import RunFiles
from hops.statistics.correction import SIGNIFICANCE
from hops.tables.observer import PLACES
from hops.units import ALL
from proofs.outcome import Progress, conclude
from proofs.statistics.cells import name_columns, rate_columns, show_rate
from proofs.statistics.experiments import Rate, over_experiments, rate

LIMIT = 0.06
"""Maximum share of draws whose interval may exclude 0."""
SHARE = 0.2
"""Share of the journeys that a draw treats as traced: the default of `trace=`."""


class OfPlace(TypedDict):
    """How often the intervals of a place in a topology excluded 0; the place `all` is the whole topology."""

    topology: str
    place: str
    left_out: Rate


class ObserverProof(TypedDict):
    """All places; the proof holds if `is_within_limit` holds for each."""

    holds: bool
    draws: int
    seed: int
    journeys: int
    places: list[OfPlace]


def prove_observer(run: RunFiles, draws: int, seed: int, progress: Progress = lambda _: None) -> ObserverProof:
    """Treats some untraced journeys of a run as traced, and looks for an effect.

    Raises:
        NotEnoughDataError: The run has too few untraced journeys.
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
            f"{run.path}: only {untraced.height:,} untraced journeys ended ok, which are too few to draw from"
        )
    holds = all(is_within_limit(row["left_out"], len(places)) for row in places)
    return ObserverProof(holds=holds, draws=draws, seed=seed, journeys=untraced.height, places=places)


def is_within_limit(left_out: Rate, places: int) -> bool:
    """Whether intervals exclude 0 in at most 6 % of the draws, or not significantly above 5 %, corrected for places."""
    of_chance = stats.binomtest(left_out["count"], left_out["of"], SIGNIFICANCE, alternative="greater").pvalue
    return bool(left_out["rate"] <= LIMIT or of_chance > SIGNIFICANCE / places)


def one_draw(run: RunFiles, seed: np.random.SeedSequence) -> Counter[tuple[str, str, str]]:
    """Counts a draw's intervals, and how many exclude 0, by topology and place. It draws by kind and trial."""
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
    rates = {(row["topology"], row["place"]): show_rate(row["left_out"]) for row in proof["places"]}
    places = [place for place in dict.fromkeys((ALL, *PLACES)) if any(place == there for _, there in rates)]
    rows = [
        [words(topology), *(rates.get((topology, place), Cell("")) for place in places)]
        for topology in dict.fromkeys(topology for topology, _ in rates)
    ]
    columns = [*name_columns("topology"), *rate_columns(*(PLACES[place] for place in places))]
    title = f"Draws whose interval excludes 0, of {proof['draws']:,}, with 95 % intervals"
    limit = f"{100 * LIMIT:g} %"
    return [
        Table("observer_draws", title, columns, rows),
        Text(f"Of the {proof['journeys']:,} untraced journeys, each draw treats a fifth as traced."),
        conclude(
            proof["holds"],
            f"In no place do intervals exclude 0 in more than {limit} of the draws, unless by chance.",
            f"In a place, intervals exclude 0 in more than {limit} of the draws, beyond chance.",
        ),
    ]
