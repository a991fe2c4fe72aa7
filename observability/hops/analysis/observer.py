"""What watching costs: sampled against unsampled journeys of the same trials, a randomised experiment; and where.

Two accounts say where, and neither needs the other. The edge logs every request, sampled or not, so the experiment can
be made for each place that a journey's time is spent in: at the client and on its wire, in the edge, behind it. And
each component says what a span costs the thread that makes it, measured in that process after the load; times the spans
of a journey, that is what its spans are known to cost. What the experiment finds beyond that is what they cost others
(encoding, sending and storing them), unless it is chance. A span off the critical path costs, but delays nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import numpy as np
import polars as pl

from hops.budget.parts import EDGE, GENERATOR
from hops.run.documents.tracing import ObservedPlace, ObservedTopology, ObserverEffect, SpanCost, TracingRecord
from hops.run.files import RunFiles
from hops.statistics.intervals import Floats, observer_effect, stratified_effect
from hops.statistics.over_blocks import LEAST_BLOCKS, spread_of
from hops.units import ALL, NS_PER_MS

Strata = list[tuple[Floats, Floats]]
Effect = tuple[float | None, list[float | None]]
"""What being sampled adds, ms, and its interval."""
EffectOf = Callable[[pl.DataFrame, pl.Expr], Effect]

CLIENT, BEHIND = "client", "behind"
PLACES: Mapping[str, pl.Expr] = {
    CLIENT: pl.col("latency_ns") - pl.col("edge_ns"),
    EDGE: pl.col("edge_ns") - pl.col("behind_edge_ns"),
    BEHIND: pl.col("behind_edge_ns"),
    ALL: pl.col("latency_ns"),
}
"""Places where a journey's time is spent, and how much of it there, ns."""
_LATENCY = PLACES[ALL]


def observer_effect_of(run: RunFiles, *, seed: int = 0) -> ObserverEffect:
    """Median latency of sampled minus unsampled journeys that ended ok, stratified by journey, and where it is.

    The interval of one block is a bootstrap within it, that of three and more the one over blocks
    (`hops.statistics.over_blocks`).

    Args:
        run: Files of the run; a stratum is a journey of one topology.
        seed: Seed of the bootstrap.
    """
    ok = run.journeys.filter(pl.col("outcome") == "ok")
    effect = partial(effect_of, seed=seed, first=run.first_stage)
    value, ends = effect(ok, _LATENCY)
    topologies = {
        name: _topology(
            ok.filter(pl.col("topology") == name),
            [row["tracing"] for row in run.used if row["topology"] == name and "tracing" in row],
            effect,
        )
        for name in run.topologies
    }
    return ObserverEffect(p50=value, ci95=ends, topologies=topologies)


def effect_of(ok: pl.DataFrame, what: pl.Expr, *, seed: int = 0, first: int | None = None) -> Effect:
    """What being sampled adds to a median of journeys, ms, and its interval.

    Args:
        ok: Rows of journeys that ended ok, with `block` and `topology`.
        what: The quantity that is compared, an expression over a row, in ns.
        seed: Seed of the bootstrap.
        first: How many blocks decided on the number of blocks, as in `Latencies`.
    """
    strata = partial(_strata, what=what)
    blocks = sorted(ok["block"].unique())
    if len(blocks) <= 1:
        effect = observer_effect(strata(ok), seed=seed)
        return (None, [None, None]) if effect is None else (effect.value, list(effect.interval))
    value = stratified_effect(strata(ok))
    by_block = [stratified_effect(strata(ok.filter(pl.col("block") == block))) for block in blocks]
    return value, _over_blocks(value, by_block, first)


def _topology(ok: pl.DataFrame, records: Sequence[TracingRecord], effect: EffectOf) -> ObservedTopology:
    value, ends = effect(ok, _LATENCY)
    untraced = _untraced_median(ok)
    split = ok.filter(pl.col("journey").is_in(_in_sequence(ok)))
    weights = {str(name): count / split.height for name, count in split["journey"].value_counts().iter_rows()}
    components = _components(records, weights)
    places = [_place(place, effect(split, what), components) for place, what in PLACES.items()] if split.height else []
    return ObservedTopology(
        p50=value,
        ci95=ends,
        share=value / untraced if value is not None and untraced else None,
        share_ci95=[end / untraced if end is not None and untraced else None for end in ends],
        journeys=sorted(weights),
        places=places,
        components=components,
    )


def _in_sequence(ok: pl.DataFrame) -> list[str]:
    """The journeys whose times at the edge add up to a part of their latency: no two of their requests overlap."""
    logged = pl.col("edge_ns").is_not_null() & pl.col("behind_edge_ns").is_not_null()
    whole = ok.group_by("journey").agg(((pl.col("parallel") <= 1) & logged).all().alias("splits"))
    return sorted(whole.filter("splits")["journey"])


def _untraced_median(ok: pl.DataFrame) -> float | None:
    """Median of the untraced journeys, ms, averaged as the effect is: by the journeys' share of the load."""
    rows = ok.group_by("journey").agg(
        pl.col("latency_ns").filter(~pl.col("sampled")).median().alias("median"), pl.len().alias("count")
    )
    known = rows.drop_nulls()
    if not known.height:
        return None
    return float(np.average(known["median"].to_numpy(), weights=known["count"].to_numpy()) / NS_PER_MS)


def _place(place: str, effect: Effect, components: Sequence[SpanCost]) -> ObservedPlace:
    value, ends = effect
    there = [row for row in components if place in (ALL, _place_of(row["component"]))]
    costs = [row["ms"] for row in there]
    return ObservedPlace(
        place=place,
        p50=value,
        ci95=ends,
        spans=sum(row["spans"] for row in there) if there else None,
        spans_ms=None if not there or None in costs else sum(cost for cost in costs if cost is not None),
    )


def _place_of(component: str) -> str:
    return {GENERATOR: CLIENT, EDGE: EDGE}.get(component, BEHIND)


def _components(records: Sequence[TracingRecord], weights: Mapping[str, float]) -> list[SpanCost]:
    """The spans of a journey by component, mean over trials, each journey by its share of the load."""
    names = dict.fromkeys(
        name for record in records for journey, of in record["spans"].items() if journey in weights for name in of
    )
    return [
        SpanCost(
            component=name,
            spans=_mean(_spans(record, name, weights) for record in records),
            ms=_ms(records, name, weights),
        )
        for name in names
    ]


def _spans(record: TracingRecord, component: str, weights: Mapping[str, float]) -> float:
    return sum(
        weight * sum(record["spans"].get(journey, {}).get(component, {}).values())
        for journey, weight in weights.items()
    )


def _ms(records: Sequence[TracingRecord], component: str, weights: Mapping[str, float]) -> float | None:
    if any(not record["cost_ns"].get(component) for record in records):
        return None
    return _mean(_cost_ns(record, component, weights) for record in records) / NS_PER_MS


def _cost_ns(record: TracingRecord, component: str, weights: Mapping[str, float]) -> float:
    cost_ns = record["cost_ns"][component]
    return sum(
        weight * spans * cost_ns.get(kind, 0.0)
        for journey, weight in weights.items()
        for kind, spans in record["spans"].get(journey, {}).get(component, {}).items()
    )


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def _over_blocks(value: float | None, by_block: Sequence[float | None], first: int | None) -> list[float | None]:
    known = np.array([one for one in by_block if one is not None])
    if value is None or known.size < max(LEAST_BLOCKS, len(by_block)):
        return [None, None]
    return list(spread_of(known - value, first).around(value))


def _strata(ok: pl.DataFrame, what: pl.Expr) -> Strata:
    keys = ("topology", "journey")
    cells = ok.select(*keys, "sampled", what.alias("ns")).partition_by(*keys, as_dict=True)
    strata: Strata = []
    for key in sorted(cells, key=lambda key: tuple(map(str, key))):
        times = cells[key]["ns"].to_numpy() / NS_PER_MS
        sampled = cells[key]["sampled"].to_numpy()
        strata.append((times[sampled], times[~sampled]))
    return strata
