"""Why the means of two topologies differ: the difference, split into the parts of the hop budget.

Means add up, so the differences of the parts add up exactly to the difference of the whole. Each difference has an
interval over blocks, by the linearisation that surveys use for ratio estimates (Cochran, *Sampling Techniques*, 1977,
chapter 6). A block's deviation is how far the mean of its traces is from the overall mean, weighted by how many traces
it has. This deviation is linear in the parts, so the deviations add up too.

`all` weights each journey's mean by the journey's share of the load, not by its share of the traces. Chance decides
in each trial which journeys are traced. Without the weights, the hops of a trial that happened to trace more
checkouts would look slower.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import polars as pl

from hops.budget.groups import GROUPS, group_of
from hops.run.documents.difference import HopDifference, PartDifference
from hops.run.rows import select_rows
from hops.statistics.intervals import Floats
from hops.statistics.over_blocks import NO_INTERVAL, refusal, spread_of
from hops.units import ALL, NS_PER_MS


class TracedMeans:
    """Mean parts of one topology's traces, and each block's deviation from them.

    Args:
        hops: Rows of `rows.HOPS` with `block` as the first column, of this topology only; or sums of them, with the
            number of `traces` of the block and journey in each row.
        blocks: Numbers of the blocks, in the order of the deviations; traces of other blocks are left out.
    """

    def __init__(self, hops: pl.DataFrame, journeys: Sequence[str], blocks: Sequence[int], parts: Sequence[str]):
        shape = (len(journeys), len(blocks), len(parts))
        sums, counts = np.zeros(shape), np.zeros(shape[:2])
        rows = {name: index for index, name in enumerate(journeys)}
        columns = {name: index for index, name in enumerate(blocks)}
        places = {name: index for index, name in enumerate(parts)}
        inside = select_rows(hops, hops["block"].is_in(list(blocks)) & hops["journey"].is_in(list(journeys)))
        for journey, block, part, ns in inside.group_by("journey", "block", "part").agg(pl.col("ns").sum()).iter_rows():
            sums[rows[journey], columns[block], places[part]] = ns / NS_PER_MS
        traces = pl.col("traces").first() if "traces" in hops.columns else pl.col("trace_id").n_unique()
        for journey, block, count in inside.group_by("journey", "block").agg(traces).iter_rows():
            counts[rows[journey], columns[block]] = count
        self.traces = counts.sum(axis=1)
        whole = np.maximum(self.traces, 1.0)
        # Milliseconds by journey and part.
        self.means: Floats = sums.sum(axis=1) / whole[:, None]
        # Milliseconds by journey, block and part; their average over blocks is 0.
        self.deviations: Floats = (
            (sums - counts[:, :, None] * self.means[:, None, :]) * len(blocks) / whole[:, None, None]
        )


def hop_differences(
    hops: Mapping[str, pl.DataFrame],
    journeys: Mapping[str, float],
    blocks: Mapping[str, set[int]],
    pairs: Sequence[tuple[str, str]] | None = None,
    first: int | None = None,
) -> list[HopDifference]:
    """Splits the difference between each pair of topologies, in all journeys together and in each of them.

    Args:
        hops: Rows of `rows.HOPS` with `block` as the first column, by topology in the user's order; only of journeys
            that ended ok.
        pairs: Pairs to split, left and right; every pair in the user's order if None.

    Returns:
        Rows by pair, `all` first. A journey that lacks traces on either side has no row, and no weight in `all`.
    """
    parts = sorted({part for frame in hops.values() for part in frame["part"].unique()})
    names = sorted(journeys)
    rows: list[HopDifference] = []
    for left, right in combinations(hops, 2) if pairs is None else pairs:
        shared = sorted(blocks[left] & blocks[right])
        if not shared:
            continue
        ours, theirs = (TracedMeans(hops[name], names, shared, parts) for name in (left, right))
        both = (ours.traces > 0) & (theirs.traces > 0)
        load = np.array([journeys[name] for name in names], dtype=np.float64) * both
        if not load.sum():
            continue
        weights = {ALL: load / load.sum()}
        weights |= {name: np.eye(len(names))[index] for index, name in enumerate(names) if both[index]}
        rows += [_split(name, left, right, ours, theirs, weight, parts, first) for name, weight in weights.items()]
    return rows


def _split(
    journey: str,
    left: str,
    right: str,
    ours: TracedMeans,
    theirs: TracedMeans,
    weights: Floats,
    parts: Sequence[str],
    first: int | None,
) -> HopDifference:
    left_ms, right_ms = weights @ ours.means, weights @ theirs.means
    deviations = np.tensordot(weights, ours.deviations - theirs.deviations, axes=1)
    crossed = (left_ms != 0) | (right_ms != 0)
    counted = weights > 0
    traces = [int(side.traces[counted].sum()) for side in (ours, theirs)]
    known = refusal(deviations.shape[0], min(traces), None) is None

    def row(part: str, left_ms: float, right_ms: float, deviations: Floats) -> PartDifference:
        difference = float(left_ms - right_ms)
        return PartDifference(
            part=part,
            left_ms=float(left_ms),
            right_ms=float(right_ms),
            difference_ms=difference,
            ci95=list(spread_of(deviations, first).around(difference) if known else NO_INTERVAL),
        )

    rows = [
        row(part, left_ms[index], right_ms[index], deviations[:, index])
        for index, part in enumerate(parts)
        if crossed[index]
    ]
    groups: list[PartDifference] = []
    for group in GROUPS:
        inside = np.array([group_of(part) == group for part in parts]) & crossed
        if inside.any():
            sums = left_ms[inside].sum(), right_ms[inside].sum(), deviations[:, inside].sum(axis=1)
            groups.append(row(group, *sums))
    whole = row(journey, left_ms.sum(), right_ms.sum(), deviations.sum(axis=1))
    return HopDifference(
        journey=journey,
        left=left,
        right=right,
        traces=traces,
        difference_ms=whole["difference_ms"],
        ci95=whole["ci95"],
        parts=sorted(rows, key=lambda row: (-abs(row["difference_ms"]), row["part"])),
        groups=groups,
    )
