"""Medians of straight lines: a figure at each point of a range, its intervals, and where two of them cross.

Every row is a line: what it is without any of the quantities that vary, and what each of them costs it. At each point
of a range the median over the rows is taken anew, whole and by block, and its interval is the one that
`hops.statistics.over_blocks` would give. Two curves are held against each other at each point by their ratio, as
`hops.statistics.contrast` does it. Where neither is shown to be lower lies the point at which they cross: the points
that a test at 5 % does not reject are a 95 % set for it (Fieller, *JRSS B* 16, 1954, for two straight lines).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from hops.statistics.contrast import NO_SCATTER
from hops.statistics.intervals import Floats, t_quantile
from hops.statistics.over_blocks import refusal, scatter_of

# Of a range of an hour, a bisection leaves less than a nanosecond.
_HALVINGS = 45


@dataclass(frozen=True, slots=True)
class Lines:
    """Rows as lines.

    Args:
        starts: value of each row where nothing costs anything.
        costs: row x quantity: what one unit of each quantity adds to the row.
    """

    starts: Floats
    costs: Floats

    def medians(self, points: Floats) -> Floats:
        """The median at each point.

        Where one quantity varies, as the distance over a range, rows are sorted once by what it costs them.

        Args:
            points: quantity x point.
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
        return np.asarray(sum(_ranked(groups, added, rank) for rank in ranks) / 2)


def _ranked(groups: Sequence[Floats], added: Floats, rank: int) -> Floats:
    """The value of a rank, from 0, among all groups at each point, by bisection.

    Args:
        groups: sorted values of each.
        added: group x point: what is added to the group's values there.
        rank: how many values are below it.
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
        values: from all rows together.
        by_block: block x point; None if there are no intervals.
        reason: why there are none; None if there are.
        first: how many blocks decided how many there are (`hops.statistics.two_stage`); None if none did.
    """

    values: Floats
    by_block: Floats | None
    reason: str | None = None
    first: int | None = None

    @property
    def deviations(self) -> Floats:
        """Logarithms of each block's value over the whole's, block x point."""
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
    """The medians of rows, with what their intervals need.

    Args:
        blocks: rows of each block.
        points: quantity x point.
        first: as `Curve` has it.

    Returns:
        None if there is no row.
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
        difference: left minus right.
        low: lower end of the 95 % interval of the ratio's logarithm, in the unit of the curves.
        high: its upper end.
        p: probability of a ratio at least this far from 1 if there is no difference.
        reason: why nothing could be tested, and `low`, `high` and `p` are not numbers; None if it could.
    """

    difference: Floats
    low: Floats
    high: Floats
    p: Floats
    reason: str | None = None

    def crossing(self, grid: Floats) -> float | None:
        """Where the curves cross; None if they do so nowhere, or an even number of times."""
        crossings = _roots(self.difference, grid)
        return crossings[len(crossings) // 2] if len(crossings) % 2 else None

    def lower(self, grid: Floats) -> list[tuple[bool, float, float]]:
        """Where a curve is shown to be lower: (whether it is the left, from, to), in order."""
        left = [(True, *ends) for ends in _below(self.high, grid)]
        return sorted([*left, *((False, *ends) for ends in _below(-self.low, grid))], key=lambda one: one[1])


def gap_between(left: Curve, right: Curve) -> Gap:
    """Holds two curves against each other whose blocks are the same, in the same order."""
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
    # A logarithm of the ratio times the level is nearly the difference, and as straight between two points.
    level = (left.values + right.values) / 2
    p = np.max([2 * special.stdtr(freedom, -np.abs(logs) / errors) for errors, freedom in scatter], axis=0)
    return Gap(difference, (logs - reach) * level, (logs + reach) * level, p)


def _half_widths(scatter: Sequence[tuple[Floats, int]]) -> Floats:
    """Half of the 95 % interval of each figure, by the less certain one of `scatter_of`."""
    return np.asarray(np.max([t_quantile(freedom) * errors for errors, freedom in scatter], axis=0))


def _roots(values: Floats, grid: Floats) -> list[float]:
    """Where values change their sign, by straight lines between the points."""
    before, after = values[:-1], values[1:]
    changes = np.flatnonzero((before < 0) != (after < 0))
    shares = before[changes] / (before[changes] - after[changes])
    return [float(at) for at in grid[changes] + shares * np.diff(grid)[changes]]


def _below(values: Floats, grid: Floats) -> list[tuple[float, float]]:
    """The stretches over which values are below 0."""
    ends = _roots(values, grid)
    if values[0] < 0:
        ends = [float(grid[0]), *ends]
    if values[-1] < 0:
        ends = [*ends, float(grid[-1])]
    return list(zip(ends[::2], ends[1::2], strict=True))
