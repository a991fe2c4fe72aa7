"""Evidence for the gates, from the files of a trial."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import fields
from typing import cast

import numpy as np
import polars as pl

from hops.budget.bands import banded_budgets
from hops.budget.parts import EDGE, EDGE_CACHE, GENERATOR, NETWORK_PART, UNATTRIBUTED, Budget, bypasses_sidecars
from hops.gates.complete import lacking, outside
from hops.gates.edge_agreement import LoggedRequest, compare_with_edge
from hops.gates.trial import Evidence, Observed
from hops.run.rows import hops_frame
from hops.traces.tree import Quality
from hops.units import NS_PER_MS

_ENTRIES = {(GENERATOR, EDGE), (GENERATOR, EDGE_CACHE)}


def evidence_of(
    journeys: pl.DataFrame,
    budgets: Sequence[Budget],
    quality: Quality,
    observed: Observed,
    *,
    logged: Sequence[LoggedRequest] | None = None,
    load_nodes: int = 1,
    keepers: Container[str] = (),
) -> Evidence:
    """Gathers the evidence of one replay.

    Args:
        logged: The edge's access log, which may include other journeys' requests; None without an edge.
        load_nodes: Number of generators that shared the tape, by seq.
        keepers: Components that keep their data in the database: each request to them leaves the span of a statement.
    """
    ok = journeys.filter(pl.col("outcome") == "ok")
    ok_ms = ok["latency_ns"].to_numpy() / NS_PER_MS
    sampled = int(journeys["sampled"].sum())
    answered_ok = set(ok["trace_id"])
    budgets_ok = [budget for budget in budgets if budget.trace_id in answered_ok]
    # If an edge gave up, the request it waited for may not have begun, or may continue. Only answered requests have
    # parts for all their time, and end before the edge's span.
    mean = banded_budgets(hops_frame(budgets_ok or budgets))["mean"]
    p99_ms, mean_ms = _start_lag_ms(journeys, load_nodes)
    edge = None if logged is None else compare_with_edge(journeys, budgets, logged)
    calls = [] if journeys["network_ns"].sum() else [call for budget in budgets for call in budget.calls]
    # Over the loopback, an answer arrives as soon as it is sent; the remaining time passes until it is read.
    after_ns = [call.after_ns for call in calls if (call.caller, call.callee) in _ENTRIES]
    return Evidence(
        **{one.name: getattr(observed, one.name) for one in fields(observed)},
        journeys_sent=journeys.height,
        start_lag_p99_ms=p99_ms,
        start_lag_mean_ms=mean_ms,
        answer_lag_ms=_median_ms(after_ns),
        edge_lag_ms=_median_ms([call.after_ns for call in calls if call.caller == EDGE]) or 0.0,
        requests=len(after_ns) / len(budgets) if after_ns else 1.0,
        spans_missing=lacking(budgets_ok, keepers),
        spans_outside=quality.skewed + outside(budgets_ok),
        latency_median_ms=float(np.median(ok_ms)) if ok_ms.size else None,
        failures=journeys.height - int(ok_ms.size),
        traced=sampled > 0,
        traces_expected=sampled,
        traces_found=quality.traces,
        quality=quality,
        budget_gap_ns=max((budget.gap_ns for budget in budgets), default=None),
        network_off_ns=_network_off_ns(journeys, budgets),
        edge_logged=edge is not None,
        edge_unmatched=None if edge is None else edge.unmatched,
        agreements=() if edge is None else edge.agreements,
        unattributed_share=mean.get(UNATTRIBUTED, 0.0) / sum(mean.values()) if mean else None,
        bypassed_calls=_bypassed_calls(budgets) if budgets else None,
    )


def _start_lag_ms(journeys: pl.DataFrame, load_nodes: int) -> tuple[float | None, float | None]:
    """Computes p99 and mean of the start lag on the worst load node: a late node is as bad as a late generator."""
    lag_ms = (pl.col("started_ns") - pl.col("intended_ns")) / NS_PER_MS
    by_node = journeys.group_by(pl.col("seq") % load_nodes).agg(
        lag_ms.quantile(0.99, "linear").alias("p99"), lag_ms.mean().alias("mean")
    )
    return cast("float | None", by_node["p99"].max()), cast("float | None", by_node["mean"].max())


def _median_ms(values_ns: Sequence[int]) -> float | None:
    return float(np.median(values_ns)) / NS_PER_MS if values_ns else None


def _network_off_ns(journeys: pl.DataFrame, budgets: Sequence[Budget]) -> int | None:
    """Computes the maximum difference between the network times of budgets and of their journeys; None without any.

    Journeys with parallel requests are left out, because a budget may follow a request other than the last to end.
    """
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
        default=None,
    )


def _bypassed_calls(budgets: Sequence[Budget]) -> int:
    crossings = (item for budget in budgets for item in budget.crossings.items())
    return sum(count for part, count in crossings if bypasses_sidecars(part))
