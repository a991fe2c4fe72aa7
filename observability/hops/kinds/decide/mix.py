"""One topology's figures for customers other than those measured, with another mix and other networks.

A row's weight is the requested share of its journey and channel, divided by the number of such journeys that were sent.
The journeys of one kind are a random sample of that kind, however many of them the tape has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from hops.statistics.contrast import Contrast, spread_if_independent
from hops.statistics.intervals import Floats, Interval
from hops.statistics.over_blocks import Section, refusal
from hops.units import ALL

Kind = tuple[str, str]
"""A journey and the channel that sends it."""
KIND = ["journey", "channel"]
NO_SAMPLE = "the bytes of a journey in the mix were not counted"


def weigh(journeys: pl.DataFrame, mix: Mapping[Kind, float] | None) -> pl.DataFrame:
    """Adds `weight` to each row, and removes rows whose kind the mix lacks; None is the mix as sent, all rows alike."""
    if mix is None:
        return journeys.with_columns(weight=pl.lit(1.0))
    wanted = pl.DataFrame([(*kind, weight) for kind, weight in mix.items()], [*KIND, "wanted"], orient="row")
    rows = journeys.join(wanted.filter(pl.col("wanted") > 0), on=KIND)
    return rows.with_columns(weight=pl.col("wanted") / pl.len().over(KIND)).drop("wanted")


def shares(rows: pl.DataFrame) -> dict[Kind, float]:
    """Computes the share of each kind of journey in weighted rows."""
    sums = rows.group_by(KIND).agg(pl.col("weight").sum()).sort(KIND)
    total = float(sums["weight"].sum())
    return {(journey, channel): weight / total for journey, channel, weight in sums.iter_rows()}


def within(mix: Mapping[Kind, float], channel: str) -> dict[Kind, float]:
    """Computes the shares of one channel's journeys in its own mix; for `all`, in the whole mix."""
    inside = {kind: share for kind, share in mix.items() if channel in (kind[1], ALL)}
    return {kind: share / sum(inside.values()) for kind, share in inside.items()}


def mean_of(rows: pl.DataFrame, column: str) -> float:
    """Computes the mean of a column over weighted rows."""
    return float(np.average(rows[column].to_numpy(), weights=rows["weight"].to_numpy()))


def median_of(rows: pl.DataFrame, column: str, blocks: Sequence[int], first: int | None = None) -> Section:
    """Computes the median of a column of positive values, overall and by block, from rows as returned by `weigh`."""
    rows = rows.filter(pl.col("block").is_in(list(blocks)))
    if not rows.height:
        return Section(None, np.empty(0), "there is no journey that ended ok")
    weights = rows["weight"].to_numpy()
    value = _median(rows[column].to_numpy(), weights)
    # The effective number of rows with equal weights (Kish, Survey Sampling, 1965, 11.7).
    alike = round(float(weights.sum() ** 2 / (weights**2).sum()))
    reason = refusal(len(blocks), alike, 0.5)
    parts = [rows.filter(pl.col("block") == block) for block in blocks]
    kinds = {part.select(KIND).n_unique() for part in parts}
    if reason is None and (0 in kinds or (len(kinds) > 1 and np.ptp(weights) > 0)):
        reason = "a block lacks a journey of the mix"
    if reason is not None:
        return Section(value, np.empty(0), reason)
    by_block = np.array([_median(part[column].to_numpy(), part["weight"].to_numpy()) for part in parts])
    if min(value, by_block.min()) <= 0:
        return Section(value, np.empty(0), "a median would not be above 0")
    return Section(value, by_block, first=first)


def _median(values: Floats, weights: Floats) -> float:
    if not np.ptp(weights):
        return float(np.median(values))
    return float(np.quantile(values, 0.5, weights=weights, method="inverted_cdf"))


@dataclass(frozen=True, slots=True)
class SampledBytes:
    """Bytes of a journey on the wire, in both directions, from journeys that were sent alone.

    Args:
        scaled: Deviation of each sampled journey from its kind's mean, times the kind's share.
    """

    value: float | None
    scaled: Sequence[Floats] = ()

    @property
    def interval(self) -> Interval:
        """95 % interval of the mean over journeys with other parameters; open if a kind was sampled only once."""
        if self.value is None or any(side.size < 2 for side in self.scaled):
            return (None, None)
        return spread_if_independent(*self.scaled).around(self.value)


def sampled_bytes(sample: pl.DataFrame, mix: Mapping[Kind, float]) -> SampledBytes:
    """Averages a sample, rows of `rows.SAMPLE` of one topology, over a mix."""
    carried = {
        (str(journey), str(channel)): (rows["wire_in"] + rows["wire_out"]).to_numpy().astype(np.float64)
        for (journey, channel), rows in sample.partition_by(KIND, as_dict=True).items()
    }
    if not mix.keys() <= carried.keys():
        return SampledBytes(None)
    value = sum(share * float(carried[kind].mean()) for kind, share in mix.items())
    return SampledBytes(value, [share * (carried[kind] - carried[kind].mean()) for kind, share in mix.items()])


def contrast_bytes(left: SampledBytes, right: SampledBytes) -> Contrast:
    """Compares two topologies' bytes for the same sampled journeys, so that the effects of their parameters cancel."""
    if left.value is None or right.value is None:
        return Contrast(None, None, reason=NO_SAMPLE)
    difference, ratio = left.value - right.value, left.value / right.value
    sizes = [(ours.size, theirs.size) for ours, theirs in zip(left.scaled, right.scaled, strict=True)]
    if any(ours != theirs or ours < 2 for ours, theirs in sizes):
        return Contrast(difference, ratio, reason="needs 2 sampled journeys of each kind, the same in both topologies")
    spread = spread_if_independent(*(ours - theirs for ours, theirs in zip(left.scaled, right.scaled, strict=True)))
    return Contrast(difference, ratio, spread.around(difference), p=spread.p_value(difference))
