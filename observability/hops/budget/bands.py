"""Mean budgets over all traces and over bands of them, and exemplars.

Percentiles do not add: the p99 of a sum is not the sum of p99s. Means do. So a slow journey is explained by the mean
budget of the traces around it:

- `mean`: all traces;
- `p50_band`: totals from the 45th to the 55th percentile, both included; if no trace is there (few traces, and the
two middle ones far apart), the trace nearest the median;
- `p99_band`: totals at or above the 99th percentile. With up to 100 traces this is only the slowest: an anecdote, not
a tail.

The budget of each band adds up to the mean total of its traces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hops.units import ALL, NS_PER_MS

if TYPE_CHECKING:
    import polars as pl

# Polars is imported only where rows are used: code that only reads traces does not load it.

BANDS = ("mean", "p50_band", "p99_band")


def totals(hops: pl.DataFrame) -> pl.DataFrame:
    """Computes the end-to-end time of each trace: columns trace_id, journey and total_ns, the slowest last."""
    import polars as pl

    grouped = hops.group_by("trace_id", "journey").agg(pl.col("ns").sum().alias("total_ns"))
    return grouped.sort("total_ns", "trace_id")


def banded_budgets(hops: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Computes mean budgets, from rows of `rows.HOPS`, over all traces and over bands of them.

    Returns, for each of `BANDS`, ms by part, the largest first. Parts that cost nothing in every trace of the band are
    left out. Budgets are empty if there is no trace.
    """
    import polars as pl

    by_trace = _by_id(totals(hops))
    if not by_trace:
        return {band: {} for band in BANDS}
    budgets: dict[str, dict[str, float]] = {}
    for band, inside in banded_traces(by_trace).items():
        sums = (
            hops.filter(pl.col("trace_id").is_in(inside))
            .group_by("part")
            .agg(pl.col("ns").sum())
            .filter(pl.col("ns") > 0)
            .sort(["ns", "part"], descending=[True, False])
        )
        budgets[band] = {part: ns / len(inside) / NS_PER_MS for part, ns in sums.iter_rows()}
    return budgets


def exemplars(hops: pl.DataFrame) -> dict[str, dict[str, str]]:
    """Finds traces to look at: for `all` and each journey, the ids of those whose totals are nearest to p50 and p99."""
    by_trace = totals(hops)
    of_kind = {journey: own for (journey,), own in by_trace.partition_by("journey", as_dict=True).items()}
    chosen: dict[str, dict[str, str]] = {}
    for journey in (ALL, *sorted(of_kind)) if of_kind else ():
        by_id = _by_id(by_trace if journey == ALL else of_kind[journey])
        chosen[journey] = {"p50": nearest_trace(by_id, 0.5), "p99": nearest_trace(by_id, 0.99)}
    return chosen


def _by_id(totals: pl.DataFrame) -> dict[str, int]:
    return dict(zip(totals["trace_id"].to_list(), totals["total_ns"].to_list(), strict=True))


def quantile(ordered: Sequence[int], share: float) -> float:
    """Computes a quantile of sorted values, linearly interpolated as in NumPy."""
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def banded_traces(totals_ns: Mapping[str, int]) -> dict[str, list[str]]:
    """Lists the traces of each of `BANDS`, from at least one end-to-end time by trace id."""
    ordered = sorted(totals_ns.values())
    low, high, slow = (quantile(ordered, share) for share in (0.45, 0.55, 0.99))
    middle = [trace_id for trace_id, ns in totals_ns.items() if low <= ns <= high]
    return {
        "mean": list(totals_ns),
        "p50_band": middle or [nearest_trace(totals_ns, 0.5)],
        "p99_band": [trace_id for trace_id, ns in totals_ns.items() if ns >= slow],
    }


def nearest_trace(totals_ns: Mapping[str, int], share: float) -> str:
    """Finds the trace whose total is nearest to a quantile; with ties the shortest, then the first by id."""
    wanted = quantile(sorted(totals_ns.values()), share)
    return min(totals_ns, key=lambda trace_id: (abs(totals_ns[trace_id] - wanted), totals_ns[trace_id], trace_id))
