"""The figures of one topology, as `summary.json` has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

import numpy as np
import polars as pl

from hops.analysis.latencies import Latencies
from hops.analysis.net_budget import SpanCosts, net_budget
from hops.budget.bands import banded_budgets
from hops.budget.parts import PROXY, is_sidecar
from hops.errors import NotEnoughDataError
from hops.run.documents.estimate import Estimate
from hops.run.documents.topology import JourneySummary, SidecarSummary, TopologySummary, WireSummary
from hops.run.rows import FAILURES
from hops.statistics.intervals import PERCENTILES, Floats, describe, lies_beyond
from hops.statistics.over_blocks import sections_of
from hops.units import ALL, NS_PER_MS


def summarise_topology(
    journeys: pl.DataFrame,
    hops: pl.DataFrame,
    latencies: Latencies,
    *,
    span_costs: Mapping[int, SpanCosts],
    sample: pl.DataFrame,
    cpu_s: Mapping[str, float],
    rss_mb: Mapping[str, float],
    cost: Mapping[str, Estimate],
    wire: WireSummary | None,
    seed: int,
) -> TopologySummary:
    """Summarises one topology.

    Args:
        rss_mb: Resident memory by component, MiB.

    Raises:
        NotEnoughDataError: No journey was replayed.
    """
    if not journeys.height:
        raise NotEnoughDataError("cannot summarise a replay without journeys")
    ok = journeys.filter(pl.col("outcome") == "ok")
    hops = hops.filter(pl.col("trace_id").is_in(ok["trace_id"].drop_nulls().to_list()))
    cells = {ALL: _journey(journeys, hops, sample, ALL, latencies, span_costs, seed)}
    for journey in sorted(journeys["journey"].unique()):
        rows, traced = (frame.filter(pl.col("journey") == journey) for frame in (journeys, hops))
        cells[journey] = _journey(rows, traced, sample, journey, latencies, span_costs, seed)
    # From the first arrival to the last answer of each block.
    spans = journeys.group_by("block").agg(pl.col("ended_ns").max() - pl.col("intended_ns").min())
    wall_ns = int(spans["ended_ns"].sum())
    return TopologySummary(
        throughput_per_s=ok.height / (wall_ns / 1e9) if wall_ns > 0 else 0.0,
        errors=_errors(journeys),
        cpu_ms_per_journey={name: seconds * 1e3 / journeys.height for name, seconds in sorted(cpu_s.items())},
        rss_mb=dict(sorted(rss_mb.items())),
        cost=dict(cost),
        wire=wire,
        sidecars=_sidecars(hops),
        journeys=cells,
    )


def _sidecars(hops: pl.DataFrame) -> dict[str, SidecarSummary]:
    traces = hops["trace_id"].n_unique()
    sums = (
        hops.with_columns(proxy=pl.col("part").str.strip_prefix(PROXY))
        .filter(pl.col("part").str.starts_with(PROXY))
        .group_by("proxy")
        .agg(pl.col("ns").sum(), pl.col("crossings").sum(), pl.col("on_path").sum())
        .sort("proxy")
    )
    return {
        proxy: SidecarSummary(
            crossings_per_journey=crossings / traces, ms_per_crossing=ns / on_path / NS_PER_MS if on_path else None
        )
        for proxy, ns, crossings, on_path in sums.iter_rows()
        if is_sidecar(proxy)
    }


def _journey(
    journeys: pl.DataFrame,
    hops: pl.DataFrame,
    sample: pl.DataFrame,
    journey: str,
    latencies: Latencies,
    span_costs: Mapping[int, SpanCosts],
    seed: int,
) -> JourneySummary:
    by_block = list(latencies.cells.get(journey, {}).values())
    # Not the sum of the parts: these latencies are what the parts must add up to.
    traced_ns = journeys.filter(pl.col("trace_id").is_in(hops["trace_id"].unique().to_list()))["latency_ns"]
    return JourneySummary(
        count=journeys.height,
        errors=_errors(journeys),
        requests_per_journey=_mean(journeys["requests"]),
        waves_mean=_mean(journeys["waves"]),
        parallel_mean=_mean(journeys["parallel"]),
        bytes_in_mean=_mean(journeys["bytes_in"]),
        bytes_in_raw_mean=_mean(journeys["bytes_in_raw"]),
        bytes_out_mean=_mean(journeys["bytes_out"]),
        wire_in_mean=_sampled_mean(journeys, sample, "wire_in"),
        wire_out_mean=_sampled_mean(journeys, sample, "wire_out"),
        **latency_figures(by_block, seed, latencies.first),
        budget_ms=banded_budgets(hops),
        net_of_tracing=net_budget(hops, span_costs),
        traced_mean_ms=int(traced_ns.sum()) / traced_ns.len() / NS_PER_MS if traced_ns.len() else None,
        traces=traced_ns.len(),
    )


class _Latency(TypedDict):
    latency_ms: dict[str, float | None]
    latency_ci95: dict[str, list[float | None]]


def latency_figures(blocks: list[Floats], seed: int, first: int | None = None) -> _Latency:
    """Computes latencies, ms, with intervals: within the only block, or over several blocks; unknown without any."""
    values = np.concatenate(blocks) if blocks else np.empty(0)
    if not values.size:
        names = ("mean", "p50", "p90", "p95", "p99", "p99_9", "max", "sd")
        return _Latency(latency_ms=dict.fromkeys(names), latency_ci95={name: [None, None] for name in names[:-2]})
    if len(blocks) == 1:
        figures, intervals = describe(values, seed=seed)
    else:
        sections = sections_of(blocks, first=first)
        figures = {
            name: None if lies_beyond(values.size, PERCENTILES.get(name, 0)) else section.value
            for name, section in sections.items()
        }
        intervals = {name: section.interval for name, section in sections.items()}
    deviation = float(values.std(ddof=1)) if values.size > 1 else None
    return _Latency(
        latency_ms={**figures, "max": float(values.max()), "sd": deviation},
        latency_ci95={name: list(interval) for name, interval in intervals.items()},
    )


def _errors(journeys: pl.DataFrame) -> dict[str, int]:
    return {outcome: int((journeys["outcome"] == outcome).sum()) for outcome in FAILURES}


def _mean(column: pl.Series) -> float:
    return float(column.to_numpy().mean())


def _sampled_mean(journeys: pl.DataFrame, sample: pl.DataFrame, column: str) -> float | None:
    """Computes the mean of a sample's column, weighted by the replay's mix; None if a kind of journey is missing."""
    kind = ["journey", "channel"]
    kinds = (
        journeys.group_by(kind)
        .agg(pl.len().alias("count"))
        .join(sample.group_by(kind).agg(pl.col(column).mean()), on=kind, how="left")
        .sort(kind)
    )
    if kinds[column].null_count():
        return None
    return float((kinds[column] * kinds["count"]).sum()) / journeys.height
