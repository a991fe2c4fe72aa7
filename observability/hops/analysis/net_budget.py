"""Hop budgets net of tracing: without the time that making the spans on the critical path took.

After the load, each process measures what a span of each kind costs it. A span's cost is subtracted from the part that
the span's own time belongs to, in each trace, and never more than the part has there. So for every part whose
component reports its costs, net and cost add up to the mean budget to the nanosecond. Both are estimates: some of a
span's cost comes before the clock is read for its start, or after it is read for its end. That cost is in the
surrounding part.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from hops.budget.parts import maker_of
from hops.run.documents.topology import NetPart
from hops.traces.span import INTERNAL
from hops.units import NS_PER_MS

SpanCosts = Mapping[str, Mapping[str, float]]
"""Cost of a span, ns, by component and kind."""
_COST_NS = pl.when(pl.col("cost_ns") > pl.col("ns")).then(pl.col("ns")).otherwise(pl.col("cost_ns"))
"""Cost of a span, at most the time of its part; null if unknown."""


def net_budget(hops: pl.DataFrame, costs: Mapping[int, SpanCosts]) -> dict[str, NetPart]:
    """Subtracts the cost of tracing, by block, from a mean budget; it is unknown if a component did not report it."""
    traces = hops["trace_id"].n_unique()
    accounts = {block: costs[block] for block in hops["block"].unique() if costs.get(block)}
    others = hops.filter(~pl.col("block").is_in(list(accounts))) if accounts else hops
    unknown = others.group_by("part").agg(pl.col("ns").sum(), pl.len().alias("unknown"))
    # One block at a time: joining all rows to their costs would double the memory.
    of_blocks = [_sums(hops.filter(pl.col("block") == block), account) for block, account in accounts.items()]
    whole = pl.concat([unknown.with_columns(cost_ns=pl.lit(0, dtype=pl.Int64)), *of_blocks], how="diagonal")
    whole = (
        whole.group_by("part")
        .agg(pl.sum("ns", "cost_ns", "unknown"))
        .filter(pl.col("ns") > 0)
        .sort(["ns", "part"], descending=[True, False])
    )
    return {
        part: NetPart(tracing_ms=None, net_ms=None)
        if unknown
        else NetPart(tracing_ms=cost_ns / traces / NS_PER_MS, net_ms=(ns - cost_ns) / traces / NS_PER_MS)
        for part, ns, cost_ns, unknown in whole.iter_rows()
    }


def _sums(hops: pl.DataFrame, costs: SpanCosts) -> pl.DataFrame:
    """Adds up the time and the cost of each part of one block, and counts the rows with an unknown cost."""
    parts = hops["part"].unique()
    made = pl.DataFrame(
        [(part, *_each(part, costs)) for part in parts],
        schema={"part": pl.String, "entering": pl.Float64, "inner": pl.Float64},
        orient="row",
    )
    cost = pl.col("on_path") * pl.col("entering") + pl.col("inner_on_path") * pl.col("inner")
    return (
        hops.select("part", "ns", "on_path", "inner_on_path")
        .join(made, on="part", how="left")
        .with_columns(cost_ns=cost.round().cast(pl.Int64))
        .with_columns(cost_ns=_COST_NS)
        .group_by("part")
        .agg(pl.col("ns").sum(), pl.col("cost_ns").sum(), pl.col("cost_ns").null_count().alias("unknown"))
    )


def _each(part: str, costs: SpanCosts) -> tuple[float | None, float | None]:
    """Gives the cost of a span that enters the part, and of an INTERNAL span inside it; None if unknown."""
    maker = maker_of(part)
    if maker is None:
        return None, None
    component, kind = maker
    account = costs.get(component, {})
    return account.get(kind), account.get(INTERNAL)
