"""What tracing costs, and where: a randomised experiment with sampled and unsampled journeys of the same trials.

Two independent accounts say where the time goes. First, the edge logs every request, sampled or not. So the experiment
can be evaluated for each place where a journey spends time: at the client and on its wire, in the edge, and behind it.
Second, each component measures after the load what a span costs the thread that makes it. That cost times the spans of
a journey is the known cost of its spans. If the experiment finds more, the rest is chance, or the cost that spans cause
elsewhere: encoding, sending and storing them. A span off the critical path costs CPU time but delays nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from hops.budget.parts import EDGE, GENERATOR
from hops.run.documents.tracing import ObservedPlace, ObservedTopology, ObserverEffect, SpanCost, TracingRecord
from hops.run.files import RunFiles
from hops.statistics.randomisation import Effect, Stratum, effect_of, stratum_of
from hops.units import ALL, NS_PER_MS

CLIENT, BEHIND = "client", "behind"
PLACES: Mapping[str, pl.Expr] = {
    CLIENT: pl.col("latency_ns") - pl.col("edge_ns"),
    EDGE: pl.col("edge_ns") - pl.col("behind_edge_ns"),
    BEHIND: pl.col("behind_edge_ns"),
    ALL: pl.col("latency_ns"),
}
"""Places where a journey spends time, and how much time it spends there, ns."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """The journeys of one kind and topology, and the samplings that chance could have drawn instead."""

    topology: str
    journey: str
    rows: pl.DataFrame
    stratum: Stratum


def observer_effect_of(run: RunFiles, *, seed: int = 0) -> ObserverEffect:
    """Computes what sampling adds to the median latency of journeys that ended ok, in all and at each place."""
    ok = run.journeys.filter(pl.col("outcome") == "ok")
    samplings = samplings_of(ok, seed=seed)
    topologies = {
        name: _topology(
            ok.filter(pl.col("topology") == name),
            [row["tracing"] for row in run.used if row["topology"] == name and "tracing" in row],
            [one for one in samplings if one.topology == name],
        )
        for name in run.topologies
    }
    effect = effect_in(samplings)
    return ObserverEffect(p50=effect.value, ci95=list(effect.interval), topologies=topologies)


def samplings_of(ok: pl.DataFrame, *, seed: int = 0) -> list[Sampling]:
    """Redraws which journeys of a trial were sampled, for each kind and topology with enough sampled and unsampled."""
    rng = np.random.default_rng(seed)
    cells = ok.partition_by("topology", "journey", as_dict=True)
    samplings = []
    for topology, journey in sorted(cells):
        rows = cells[topology, journey]
        stratum = stratum_of(rows["sampled"].to_numpy(), rows["block"].to_numpy(), rng)
        if stratum is not None:
            samplings.append(Sampling(topology, journey, rows, stratum))
    return samplings


def effect_in(samplings: Sequence[Sampling], place: str = ALL) -> Effect:
    """Computes what being sampled adds to the median time of a journey in a place, ms."""
    ms = (PLACES[place] / NS_PER_MS).alias("ms")
    return effect_of([(one.stratum, one.rows.select(ms)["ms"].to_numpy()) for one in samplings])


def _topology(ok: pl.DataFrame, records: Sequence[TracingRecord], samplings: Sequence[Sampling]) -> ObservedTopology:
    effect = effect_in(samplings)
    untraced = _untraced_median(ok.filter(pl.col("journey").is_in([one.journey for one in samplings])))
    split = ok.filter(pl.col("journey").is_in(_in_sequence(ok)))
    counts = split["journey"].value_counts().sort("journey")
    weights = {str(name): count / split.height for name, count in counts.iter_rows()}
    components = _components(records, weights)
    in_sequence = [one for one in samplings if one.journey in weights]
    places = [_place(place, effect_in(in_sequence, place), components) for place in PLACES] if split.height else []
    return ObservedTopology(
        p50=effect.value,
        ci95=list(effect.interval),
        share=effect.value / untraced if effect.value is not None and untraced else None,
        share_ci95=[end / untraced if end is not None and untraced else None for end in effect.interval],
        journeys=sorted(weights),
        places=places,
        components=components,
    )


def _in_sequence(ok: pl.DataFrame) -> list[str]:
    """Finds the journeys whose times at the edge are a part of their latency: no two of their requests overlap."""
    logged = pl.col("edge_ns").is_not_null() & pl.col("behind_edge_ns").is_not_null()
    whole = ok.group_by("journey").agg(((pl.col("parallel") <= 1) & logged).all().alias("splits"))
    return sorted(whole.filter("splits")["journey"])


def _untraced_median(ok: pl.DataFrame) -> float | None:
    """Computes the median of untraced journeys, ms, averaged like the effect: by the journeys' share of the load."""
    rows = ok.group_by("journey").agg(
        pl.col("latency_ns").filter(~pl.col("sampled")).median().alias("median"), pl.len().alias("count")
    )
    known = rows.drop_nulls().sort("journey")  # for the same sum each time, to the last digit
    if not known.height:
        return None
    return float(np.average(known["median"].to_numpy(), weights=known["count"].to_numpy()) / NS_PER_MS)


def _place(place: str, effect: Effect, components: Sequence[SpanCost]) -> ObservedPlace:
    place_of = {GENERATOR: CLIENT, EDGE: EDGE}
    there = [row for row in components if place in (ALL, place_of.get(row["component"], BEHIND))]
    costs = [row["ms"] for row in there]
    return ObservedPlace(
        place=place,
        p50=effect.value,
        ci95=list(effect.interval),
        spans=sum(row["spans"] for row in there) if there else None,
        spans_ms=None if not there or None in costs else sum(cost for cost in costs if cost is not None),
    )


def _components(records: Sequence[TracingRecord], weights: Mapping[str, float]) -> list[SpanCost]:
    """Counts the spans of a journey by component, as a mean over trials; journeys count by their share of the load."""
    names = dict.fromkeys(
        name for record in records for journey, of in record["spans"].items() if journey in weights for name in of
    )
    return [
        SpanCost(
            component=name,
            spans=_mean(_spans(record, name, weights) for record in records),
            ms=None
            if any(not record["cost_ns"].get(name) for record in records)
            else _mean(_cost_ns(record, name, weights) for record in records) / NS_PER_MS,
        )
        for name in names
    ]


def _spans(record: TracingRecord, component: str, weights: Mapping[str, float]) -> float:
    return sum(
        weight * sum(record["spans"].get(journey, {}).get(component, {}).values())
        for journey, weight in weights.items()
    )


def _cost_ns(record: TracingRecord, component: str, weights: Mapping[str, float]) -> float:
    cost_ns = record["cost_ns"][component]
    return sum(
        weight * spans * cost_ns.get(kind, 0.0)
        for journey, weight in weights.items()
        for kind, spans in record["spans"].get(journey, {}).get(component, {}).items()
    )


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))
