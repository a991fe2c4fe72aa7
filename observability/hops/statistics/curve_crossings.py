"""Medians of straight lines: a figure at each point of a range, its intervals, and where two such curves cross.

Every row is a line: its value without any of the varying quantities, and the cost of a unit of each. At each point of a
range, the median over the rows is computed again, overall and by block. Its interval is computed as in
`hops.statistics.over_blocks`. Two curves are compared at each point by their ratio, as in `hops.statistics.contrast`.
Curves cross among the points where neither is shown to be lower. Points that a test at 5 % does not reject are a 95 %
confidence set for the crossing (Fieller, *JRSS B* 16, 1954, for two straight lines).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from hops.statistics.contrast import NO_SCATTER
from hops.statistics.intervals import Floats, t_quantile
from hops.statistics.over_blocks import refusal, scatter_of

# From a range of an hour, this many bisections leave less than a nanosecond.
_HALVINGS = 45


@dataclass(frozen=True, slots=True)
class Lines:
    """Rows as lines.

    Args:
        starts: Value of each row where every quantity is 0.
        costs: Cost of one unit of each quantity, row x quantity.
    """

    starts: Floats
    costs: Floats

    def medians(self, points: Floats) -> Floats:
        """Computes the median at each point.

        If only one quantity varies, such as distance, rows with the same cost per unit are sorted only once.

        Args:
            points: Points, quantity x point.
        """
        if (self.costs == self.costs[0]).all():
            return np.asarray(np.median(self.starts) + self.costs[0] @ points)
        varying = points.any(axis=1)
        if varying.sum() != 1:
            return np.array([np.median(self.starts + self.costs @ point) for point in points.T])
        kinds, kind_of = np.unique(self.costs[:, varying], return_inverse=True)
        kind_of = kind_of.ravel()
        added = kinds[:, None] * points[varying]
        groups = [np.sort(self.starts[kind_of == kind]) for kind in range(len(kinds))]
        ranks = ((self.starts.size - 1) // 2, self.starts.size // 2)
        return np.asarray(sum(_find_rank(groups, added, rank) for rank in ranks) / 2)


def _find_rank(groups: Sequence[Floats], added: Floats, rank: int) -> Floats:
    """Finds the value with a given rank, counted from 0, among all groups at each point, by bisection.

    Args:
        groups: Sorted values of each group.
        added: Addition to the group's values at each point, group x point.
        rank: Number of values below the value that is sought.
    """
    low = min(group[0] for group in groups) + added.min(axis=0)
    high = max(group[-1] for group in groups) + added.max(axis=0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        reached = sum(np.searchsorted(*one, side="right") for one in zip(groups, middle - added, strict=True))
        low, high = np.where(reached > rank, low, middle), np.where(reached > rank, middle, high)
    return np.asarray(high)


@dataclass(frozen=True, slots=True)
class Curve:
    """A median at each point.

    Args:
        values: Medians of all rows together.
        by_block: Medians by block, block x point; None if there are no intervals.
        reason: Why there are no intervals; None if there are.
        first: Number of blocks in the first stage (`hops.statistics.two_stage`); None if all blocks were planned.
    """

    values: Floats
    by_block: Floats | None
    reason: str | None = None
    first: int | None = None

    @property
    def deviations(self) -> Floats:
        """Logarithm of each block's value divided by the overall value, block x point."""
        assert self.by_block is not None
        return np.asarray(np.log(self.by_block / self.values))

    @property
    def ends(self) -> list[list[float | None]]:
        """The 95 % interval at each point."""
        if self.by_block is None:
            return [[None, None] for _ in self.values]
        reach = np.exp(_half_widths(scatter_of(self.deviations, self.first)))
        return [[float(low), float(high)] for low, high in zip(self.values / reach, self.values * reach, strict=True)]


def curve_of(blocks: Sequence[Lines], points: Floats, first: int | None = None) -> Curve | None:
    """Computes the medians of rows, with the data that their intervals need.

    Args:
        blocks: Rows of each block.
        points: Points, quantity x point.
        first: As in `Curve`.

    Returns:
        None without rows.
    """
    filled = [block for block in blocks if block.starts.size]
    if not filled:
        return None
    whole = Lines(np.concatenate([one.starts for one in filled]), np.concatenate([one.costs for one in filled]))
    values = whole.medians(points)
    reason = refusal(len(blocks), whole.starts.size, 0.5)
    if reason is None and len(filled) < len(blocks):
        reason = "a block has no such journey"
    if reason is not None:
        return Curve(values, None, reason)
    by_block = np.array([block.medians(points) for block in blocks])
    if min(values.min(), by_block.min()) <= 0:
        return Curve(values, None, "a median would not be above 0")
    return Curve(values, by_block, first=first)


@dataclass(frozen=True, slots=True)
class Gap:
    """The difference between two curves, left minus right, at each point.

    Args:
        difference: Left minus right.
        low: Lower end of the 95 % interval of the ratio's logarithm, in the unit of the curves.
        high: Upper end of that interval.
        p: Probability of a ratio at least this far from 1 if there is no difference.
        reason: Why nothing could be tested, so that `low`, `high` and `p` are NaN; None if the test was possible.
    """

    difference: Floats
    low: Floats
    high: Floats
    p: Floats
    reason: str | None = None

    def crossing(self, grid: Floats) -> float | None:
        """Finds where the curves cross; None if they cross an even number of times, or not at all."""
        crossings = _roots(self.difference, grid)
        return crossings[len(crossings) // 2] if len(crossings) % 2 else None

    def lower(self, grid: Floats) -> list[tuple[bool, float, float]]:
        """Finds where either curve is shown to be lower: (whether it is the left curve, start, end), in order."""
        left = [(True, *ends) for ends in _below(self.high, grid)]
        return sorted([*left, *((False, *ends) for ends in _below(-self.low, grid))], key=lambda one: one[1])


def gap_between(left: Curve, right: Curve) -> Gap:
    """Compares two curves over the same blocks, in the same order."""
    difference = left.values - right.values
    reason = left.reason or right.reason
    unknown = np.full_like(difference, np.nan)
    if reason is not None:
        return Gap(difference, unknown, unknown, unknown, reason)
    logs = np.log(left.values / right.values)
    scatter = scatter_of(left.deviations - right.deviations, left.first)
    if not all(errors.all() for errors, _ in scatter):
        return Gap(difference, unknown, unknown, unknown, NO_SCATTER)
    reach = _half_widths(scatter)
    # The logarithm of the ratio times the level is nearly the difference, and nearly as linear between two points.
    level = (left.values + right.values) / 2
    p = np.max([2 * special.stdtr(freedom, -np.abs(logs) / errors) for errors, freedom in scatter], axis=0)
    return Gap(difference, (logs - reach) * level, (logs + reach) * level, p)


def _half_widths(scatter: Sequence[tuple[Floats, int]]) -> Floats:
    """Computes half of the width of each figure's 95 % interval, from the less certain result of `scatter_of`."""
    return np.asarray(np.max([t_quantile(freedom) * errors for errors, freedom in scatter], axis=0))


def _roots(values: Floats, grid: Floats) -> list[float]:
    """Finds where values change their sign, by linear interpolation."""
    before, after = values[:-1], values[1:]
    changes = np.flatnonzero((before < 0) != (after < 0))
    shares = before[changes] / (before[changes] - after[changes])
    return [float(at) for at in grid[changes] + shares * np.diff(grid)[changes]]


def _below(values: Floats, grid: Floats) -> list[tuple[float, float]]:
    """Finds the stretches over which values are below 0."""
    ends = _roots(values, grid)
    if values[0] < 0:
        ends = [float(grid[0]), *ends]
    if values[-1] < 0:
        ends = [*ends, float(grid[-1])]
    return list(zip(ends[::2], ends[1::2], strict=True))
