"""`summary.json`: the figures of an experiment, in a form that programs can rely on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypedDict, cast

import numpy as np
import polars as pl

from hops.analysis.latencies import Latencies, latencies_of
from hops.budget.bands import banded_budgets, totals
from hops.budget.budget import UNATTRIBUTED
from hops.errors import NotEnoughDataError
from hops.run.documents import Estimate, JourneySummary, TopologySummary, WireSummary
from hops.run.rows import FAILURES, SAMPLE
from hops.statistics.over_blocks import Floats, sections_of
from hops.statistics.sample import Interval, describe
from hops.units import ALL, NS_PER_MS


@dataclass(frozen=True, slots=True)
class Resources:
    """What the components used during the replay.

    Args:
        cpu_s: CPU seconds by component.
        rss_mb: resident memory by component, MiB.
    """

    cpu_s: Mapping[str, float] = field(default_factory=dict)
    rss_mb: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wire:
    """What the clients' connections carried, in bytes, headers and framing included.

    Args:
        bytes_in: received during the replay.
        bytes_out: sent during the replay.
        opening_bytes_in: received before it.
        opening_bytes_out: sent before it.
        connections: that were opened.
    """

    bytes_in: int
    bytes_out: int
    opening_bytes_in: int
    opening_bytes_out: int
    connections: int


def summarise_topology(
    journeys: pl.DataFrame,
    hops: pl.DataFrame,
    resources: Resources,
    *,
    sample: pl.DataFrame | None = None,
    wire: Wire | None = None,
    cost: Mapping[str, Estimate] | None = None,
    latencies: Latencies | None = None,
    seed: int = 0,
) -> TopologySummary:
    """Makes one topology's part of the summary.

    Args:
        journeys: rows of `tables.JOURNEYS`, of this topology only; with a column `block` in front, of several blocks.
        hops: rows of `tables.HOPS`, of this topology only.
        resources: used during the replay, of all blocks together.
        sample: rows of `tables.SAMPLE`, of this topology only.
        wire: what the connections carried during the replay, of all blocks together.
        cost: core-hours of a million journeys, by group of components.
        latencies: of the same journeys, if they are known already.
        seed: of the bootstrap.

    Raises:
        NotEnoughDataError: no journey was replayed.
    """
    if not journeys.height:
        raise NotEnoughDataError("cannot summarise a replay without journeys")
    found = latencies or latencies_of(journeys)
    ok = journeys.filter(pl.col("outcome") == "ok")
    hops = hops.filter(pl.col("trace_id").is_in(ok["trace_id"].drop_nulls().to_list()))
    sample = SAMPLE.to_frame() if sample is None else sample
    cells = {ALL: _journey(journeys, hops, sample, None, found, seed)}
    for journey in sorted(journeys["journey"].unique()):
        rows = journeys.filter(pl.col("journey") == journey)
        cells[journey] = _journey(rows, hops.filter(pl.col("journey") == journey), sample, journey, found, seed)
    wall_ns = _wall_ns(journeys)
    return TopologySummary(
        throughput_per_s=ok.height / (wall_ns / 1e9) if wall_ns > 0 else 0.0,
        errors=_errors(journeys),
        cpu_ms_per_journey={name: seconds * 1e3 / journeys.height for name, seconds in sorted(resources.cpu_s.items())},
        rss_mb=dict(sorted(resources.rss_mb.items())),
        cost=dict(cost or {}),
        wire=None if wire is None else _wire(wire, journeys.height),
        journeys=cells,
    )


def unattributed_share(topology: TopologySummary) -> float | None:
    """Share of the mean budget over all traces that fits no part, 0 to 1; None without traces."""
    budget = topology["journeys"][ALL]["budget_ms"]["mean"]
    total = sum(budget.values())
    return budget.get(UNATTRIBUTED, 0.0) / total if total else None


def _wall_ns(journeys: pl.DataFrame) -> int:
    """From the first arrival to the last answer, of each block and added up."""
    keys = [name for name in ("block",) if name in journeys.columns]
    spans = journeys.with_columns(pl.lit(1).alias("all")).group_by("all", *keys)
    return int(spans.agg((pl.col("ended_ns").max() - pl.col("intended_ns").min()).alias("ns"))["ns"].sum())


def _journey(
    journeys: pl.DataFrame,
    hops: pl.DataFrame,
    sample: pl.DataFrame,
    journey: str | None,
    latencies: Latencies,
    seed: int,
) -> JourneySummary:
    by_block = list(latencies.cells.get(journey or ALL, {}).values())
    traced = totals(hops)
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
        **latency_figures(by_block, seed),
        budget_ms=banded_budgets(hops, journey),
        traced_mean_ms=int(traced["total_ns"].sum()) / traced.height / NS_PER_MS if traced.height else None,
        traces=traced.height,
    )


class _Latency(TypedDict):
    latency_ms: dict[str, float | None]
    latency_ci95: dict[str, list[float | None]]


def latency_figures(blocks: list[Floats], seed: int) -> _Latency:
    """Latencies with their intervals: of one block the interval within it, of several the one over them.

    Args:
        blocks: latencies of each block, ms; without any, no figure is known.
        seed: of the bootstrap.
    """
    values = np.concatenate(blocks) if blocks else np.empty(0)
    if not values.size:
        names = ("mean", "p50", "p90", "p95", "p99", "p99_9", "max", "sd")
        return _Latency(latency_ms=dict.fromkeys(names), latency_ci95={name: [None, None] for name in names[:-2]})
    if len(blocks) == 1:
        found = describe(values, seed=seed)
        figures = {"mean": found.mean, **found.percentiles}
        intervals = found.intervals
    else:
        sections = sections_of(blocks)
        figures = {name: cast("float", section.value) for name, section in sections.items()}
        intervals = {name: section.interval for name, section in sections.items()}
    deviation = float(values.std(ddof=1)) if values.size > 1 else None
    return _Latency(
        latency_ms={**figures, "max": float(values.max()), "sd": deviation},
        latency_ci95={name: _pair(interval) for name, interval in intervals.items()},
    )


def _pair(interval: Interval) -> list[float | None]:
    return [interval[0], interval[1]]


def _errors(journeys: pl.DataFrame) -> dict[str, int]:
    return {outcome: int((journeys["outcome"] == outcome).sum()) for outcome in FAILURES}


def _mean(column: pl.Series) -> float:
    return float(column.to_numpy().mean())


def _sampled_mean(journeys: pl.DataFrame, sample: pl.DataFrame, column: str) -> float | None:
    """Mean of a sample's column, each kind of journey weighing as in the replay; None if one is missing."""
    kind = ["journey", "channel"]
    found = (
        journeys.group_by(kind)
        .agg(pl.len().alias("count"))
        .join(sample.group_by(kind).agg(pl.col(column).mean()), on=kind, how="left")
        .sort(kind)
    )
    if found[column].null_count():
        return None
    return float((found[column] * found["count"]).sum()) / journeys.height


def _wire(wire: Wire, journeys: int) -> WireSummary:
    return WireSummary(
        bytes_in=wire.bytes_in,
        bytes_out=wire.bytes_out,
        in_per_journey=wire.bytes_in / journeys,
        out_per_journey=wire.bytes_out / journeys,
        opening_bytes_in=wire.opening_bytes_in,
        opening_bytes_out=wire.opening_bytes_out,
        connections=wire.connections,
    )
