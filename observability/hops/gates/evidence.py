"""What the gates look at, from the files of a trial."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import cast

import numpy as np
import polars as pl

from hops.budget.bands import banded_budgets
from hops.budget.parts import EDGE, GENERATOR, NETWORK_PART, UNATTRIBUTED, Budget, bypasses_sidecars
from hops.gates.complete import lacking, outside
from hops.gates.edge_agreement import LoggedRequest, compare_with_edge
from hops.gates.target_traces import TargetTraces
from hops.gates.trial import Evidence, Sidecars
from hops.run.rows import hops_frame
from hops.traces.tree import Quality
from hops.units import NS_PER_MS

_ENTRY = (GENERATOR, EDGE)


def evidence_of(
    journeys: pl.DataFrame,
    budgets: Sequence[Budget],
    quality: Quality,
    *,
    journeys_planned: int,
    parity_mismatches: int | None,
    invariants_broken: int | None,
    generator_cores: float | None,
    steal_share: float | None,
    other_cores: float | None,
    disk_stall_share: float | None,
    logged: Sequence[LoggedRequest] | None = None,
    spans_dropped: int = 0,
    load_nodes: int = 1,
    clock_offset_ms: float | None = None,
    sidecars: Sidecars | None = None,
    audited: bool = True,
    stress: bool = False,
    closed: bool = False,
    tape_exhausted: bool = False,
    late_customers: int | None = None,
    keepers: Container[str] = (),
    of_the_shop: bool = True,
    target: TargetTraces | None = None,
) -> Evidence:
    """Gathers the evidence of one replay.

    Args:
        journeys: Rows of `run.rows.JOURNEYS`.
        budgets: Budgets of the journeys' traces.
        quality: Quality of the traces, as `budgets_of` gives it.
        journeys_planned: How many journeys the tape has.
        parity_mismatches: Answers that differ from the reference; None if not checked.
        invariants_broken: Broken invariants of the shop's data, after the replay; None if not checked.
        generator_cores: CPU seconds of the generator for each second of the replay, on the busiest load node.
        steal_share: 0 to 1; None where the machine does not report it.
        other_cores: Cores that programs used that are no part of the run.
        disk_stall_share: Share of the seconds in which the disk stalled, 0 to 1; None if nobody keeps account of it.
        logged: The edge's access log, which may have other requests than these journeys'; None without an edge.
        spans_dropped: Spans that exporters lost.
        load_nodes: Generators that shared the tape, by seq.
        clock_offset_ms: Largest difference between the clocks of two nodes; None on one machine.
        sidecars: Evidence of the mesh; None without one.
        audited: Whether the shop's data can be looked at after the replay.
        stress: Whether failures are expected.
        closed: Whether virtual users sent the journeys, each after its answer.
        tape_exhausted: Whether the tape ended before the time of a closed loop was over.
        late_customers: Journeys of a warm visit that opened their customer's connections themselves; None without an
            emulated network, or on a first visit.
        keepers: Components that keep their data in the database: each request to them leaves a statement.
        of_the_shop: Whether the shop was loaded.
        target: What the traces of another target lack; None if none were read.
    """
    ok = journeys.filter(pl.col("outcome") == "ok")
    ok_ms = ok["latency_ns"].to_numpy() / NS_PER_MS
    sampled = int(journeys["sampled"].sum())
    answered_ok = set(ok["trace_id"])
    budgets_ok = [budget for budget in budgets if budget.trace_id in answered_ok]
    # Where an edge gave up, what it waited for may never have begun: only what was answered has parts for all its time.
    mean = banded_budgets(hops_frame(budgets_ok or budgets))["mean"]
    p99_ms, mean_ms = _start_lag_ms(journeys, load_nodes)
    edge = None if logged is None else compare_with_edge(journeys, budgets, logged)
    calls = [] if journeys["network_ns"].sum() else [call for budget in budgets for call in budget.calls]
    # Over the loopback, an answer is there as soon as it was sent; what comes then is reading it.
    after_ns = [call.after_ns for call in calls if (call.caller, call.callee) == _ENTRY]
    return Evidence(
        parity_mismatches=parity_mismatches,
        invariants_broken=invariants_broken,
        journeys_planned=journeys_planned,
        journeys_sent=journeys.height,
        start_lag_p99_ms=p99_ms,
        start_lag_mean_ms=mean_ms,
        answer_lag_ms=_median_ms(after_ns),
        edge_lag_ms=_median_ms([call.after_ns for call in calls if call.caller == EDGE]) or 0.0,
        requests=len(after_ns) / len(budgets) if after_ns else 1.0,
        spans_missing=lacking(budgets_ok, keepers),
        spans_outside=quality.skewed + outside(budgets),
        latency_median_ms=float(np.median(ok_ms)) if ok_ms.size else None,
        generator_cores=generator_cores,
        failures=journeys.height - int(ok_ms.size),
        steal_share=steal_share,
        other_cores=other_cores,
        disk_stall_share=disk_stall_share,
        spans_dropped=spans_dropped,
        audited=audited,
        of_the_shop=of_the_shop,
        target=target,
        traced=sampled > 0,
        traces_expected=sampled,
        traces_found=quality.traces,
        quality=quality,
        budget_gap_ns=max((budget.gap_ns for budget in budgets), default=None),
        network_off_ns=_network_off_ns(journeys, budgets),
        edge_logged=edge is not None,
        edge_unmatched=None if edge is None else edge.unmatched,
        agreements=() if edge is None else edge.agreements,
        clock_offset_ms=clock_offset_ms,
        unattributed_share=mean.get(UNATTRIBUTED, 0.0) / sum(mean.values()) if mean else None,
        bypassed_calls=_bypassed_calls(budgets) if budgets else None,
        sidecars=sidecars,
        stress=stress,
        closed=closed,
        tape_exhausted=tape_exhausted,
        late_customers=late_customers,
    )


def _start_lag_ms(journeys: pl.DataFrame, load_nodes: int) -> tuple[float | None, float | None]:
    """p99 and mean of the load node that is worst off: one that is late is as bad as a single generator that is."""
    lag_ms = (pl.col("started_ns") - pl.col("intended_ns")) / NS_PER_MS
    by_node = journeys.group_by(pl.col("seq") % load_nodes).agg(
        lag_ms.quantile(0.99, "linear").alias("p99"), lag_ms.mean().alias("mean")
    )
    return cast("float | None", by_node["p99"].max()), cast("float | None", by_node["mean"].max())


def _median_ms(values_ns: Sequence[int]) -> float | None:
    return float(np.median(values_ns)) / NS_PER_MS if values_ns else None


def _network_off_ns(journeys: pl.DataFrame, budgets: Sequence[Budget]) -> int | None:
    """Of requests side by side, a budget may follow another than the one that ended last."""
    if not budgets or not journeys["network_ns"].sum():
        return None
    in_turn = journeys.filter(pl.col("sampled") & (pl.col("outcome") == "ok") & (pl.col("parallel") <= 1))
    took_ns = dict(in_turn.select("trace_id", "network_ns").iter_rows())
    return max(
        (
            abs(budget.parts.get(NETWORK_PART, 0) - took_ns[budget.trace_id])
            for budget in budgets
            if budget.trace_id in took_ns
        ),
        default=0,
    )


def _bypassed_calls(budgets: Sequence[Budget]) -> int:
    crossings = (item for budget in budgets for item in budget.crossings.items())
    return sum(count for part, count in crossings if bypasses_sidecars(part))
