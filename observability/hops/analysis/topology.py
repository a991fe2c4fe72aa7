"""The figures of one topology, as `summary.json` has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

import numpy as np
import polars as pl

from hops.analysis.cost import Used, cost
from hops.analysis.latencies import Latencies
from hops.analysis.net_budget import SpanCosts, net_budget
from hops.budget.bands import banded_budgets
from hops.budget.parts import PROXY, is_sidecar
from hops.run.documents.estimate import Estimate
from hops.run.documents.topology import EdgeCacheSummary, JourneySummary, SidecarSummary, TopologySummary, WireSummary
from hops.run.documents.trial import TrialRecord
from hops.run.files import RunFiles
from hops.run.rows import FAILURES
from hops.statistics.intervals import PERCENTILES, Floats, describe, lies_beyond
from hops.statistics.over_blocks import rate_section, sections_of
from hops.units import ALL, NS_PER_MS

_WIRE = ("wire_bytes_in", "wire_bytes_out", "opening_bytes_in", "opening_bytes_out", "connections_dialed")


def summarise_topology(
    run: RunFiles,
    topology: str,
    journeys: pl.DataFrame,
    hops: pl.DataFrame,
    latencies: Latencies,
    used: Mapping[str, Used],
    seed: int,
) -> TopologySummary:
    """Summarises one topology.

    Args:
        journeys: The topology's rows of `rows.JOURNEYS`, at least one.
        hops: Its rows of `rows.HOPS`, only of journeys that ended ok.
        used: CPU seconds and journeys by group of components.
        seed: Seed of the bootstrap.
    """
    trials = [row for row in run.used if row["topology"] == topology]
    cpu_s: dict[str, float] = {}
    rss_mb: dict[str, float] = {}
    for trial in trials:
        cpu_s |= {name: cpu_s.get(name, 0.0) + seconds for name, seconds in trial["cpu_s"].items()}
        rss_mb |= {name: max(rss_mb.get(name, 0.0), memory) for name, memory in trial["rss_mb"].items()}
    span_costs = {trial["block"]: trial["tracing"]["cost_ns"] for trial in trials if "tracing" in trial}
    sample = run.sample(topology)
    cells = {ALL: _journey(journeys, hops, sample, ALL, latencies, span_costs, seed)}
    for journey in sorted(journeys["journey"].unique()):
        rows, traced = (frame.filter(pl.col("journey") == journey) for frame in (journeys, hops))
        cells[journey] = _journey(rows, traced, sample, journey, latencies, span_costs, seed)
    # From the first arrival to the last answer of each block.
    spans = journeys.group_by("block").agg(pl.col("ended_ns").max() - pl.col("intended_ns").min())
    wall_ns = int(spans["ended_ns"].sum())
    ok = int((journeys["outcome"] == "ok").sum())
    summary = TopologySummary(
        throughput_per_s=ok / (wall_ns / 1e9) if wall_ns > 0 else 0.0,
        errors=_errors(journeys),
        cpu_ms_per_journey={name: seconds * 1e3 / journeys.height for name, seconds in sorted(cpu_s.items())},
        rss_mb=dict(sorted(rss_mb.items())),
        cost=cost(used, run.first_stage),
        wire=_wire(trials, journeys.height, int(journeys["requests"].sum())),
        sidecars=_sidecars(hops),
        journeys=cells,
    )
    if counted := {trial["block"]: trial["edge_cache"] for trial in trials if "edge_cache" in trial}:
        per_block = dict(journeys.group_by("block").len().iter_rows())
        summary["edge_cache"] = EdgeCacheSummary(
            hit_share=_rate([(one["hits"], one["requests"]) for one in counted.values()], run.first_stage),
            fetches=_rate([(one["fetches"], per_block[block]) for block, one in counted.items()], run.first_stage),
            bytes=_rate([(one["bytes"], per_block[block]) for block, one in counted.items()], run.first_stage),
        )
    return summary


def _rate(blocks: Sequence[tuple[float, int]], first: int | None) -> Estimate:
    section = rate_section(blocks, 1.0, first)
    return Estimate(value=section.value or 0.0, ci95=list(section.interval))


def _wire(trials: Sequence[TrialRecord], journeys: int, requests: int) -> WireSummary | None:
    """Adds up what all trials' connections carried; None if a trial did not count it."""
    if any(name not in trial["generator"] for trial in trials for name in _WIRE):
        return None
    bytes_in, bytes_out, opening_in, opening_out, connections = (
        sum(int(trial["generator"][name]) for trial in trials) for name in _WIRE
    )
    unchanged = [int(trial["generator"]["not_modified"]) for trial in trials if "not_modified" in trial["generator"]]
    wire = WireSummary(
        bytes_in=bytes_in,
        bytes_out=bytes_out,
        in_per_journey=bytes_in / journeys,
        out_per_journey=bytes_out / journeys,
        opening_bytes_in=opening_in,
        opening_bytes_out=opening_out,
        connections=connections,
    )
    if len(unchanged) == len(trials):
        wire["not_modified"] = sum(unchanged) / requests
    return wire


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
