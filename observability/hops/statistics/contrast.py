"""Comparison of two figures: difference, ratio, their 95 % intervals, and a p value.

The scatter of a difference depends on how the blocks of both sides are related. Topologies of one run share their
blocks, so a block's common effect cancels (`spread_if_paired`). Blocks of two runs share nothing
(`spread_if_independent`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from hops.statistics.intervals import Floats, Interval, t_quantile
from hops.statistics.over_blocks import NO_INTERVAL, Section, Spread, spread_of

_NO_SCATTER = "the {}s do not scatter"
NO_SCATTER = _NO_SCATTER.format("block")
"""Why two different figures have no interval if each is the same in all blocks."""
#: A difference counts as visible if it would be shown in this share of experiments.
POWER = 0.8


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two figures, left against right.

    Args:
        difference: Left minus right; None if a side has no value.
        ratio: Left divided by right; None if a side has no value, or right is 0.
        interval: Interval of the difference.
        ratio_interval: Interval of the ratio.
        p: Probability of a ratio at least this far from 1 if there is no difference; below 5 % if and only if the
            ratio's interval excludes 1.
        freedom: Degrees of freedom of the t distribution behind p and the ratio's interval.
        reason: Why there are no intervals and no p; None if there are.
    """

    difference: float | None
    ratio: float | None
    interval: Interval = NO_INTERVAL
    ratio_interval: Interval = NO_INTERVAL
    p: float | None = None
    freedom: float | None = None
    reason: str | None = None


def spread_if_paired(left: Floats, right: Floats, first: Sequence[int | None] = (None, None)) -> Spread:
    """Computes the scatter of a difference whose sides share their blocks.

    Args:
        left: Deviation of each block on one side from the side's overall value.
        right: Deviation of each block on the other side, for the same blocks in the same order.
        first: As in `spread_of`, for each side.
    """
    return spread_of(left - right, first[0])


def spread_if_independent(*sides: Floats, first: Sequence[int | None] = ()) -> Spread:
    """Computes the scatter of a difference or sum of independent sides.

    The variances add up; the degrees of freedom are Welch's, which allow each side its own scatter (Welch,
    *Biometrika* 34, 1947; Satterthwaite, *Biometrics Bulletin* 2, 1946).

    Args:
        sides: Deviations of each side's blocks from the side's overall value; at least 2 sides, with any number of
            blocks.
        first: As in `spread_of`, for each side.
    """
    spreads = [spread_of(side, of_side).widest for side, of_side in zip_longest(sides, first)]
    variances = np.array([side.error**2 for side in spreads])
    freedoms = np.array([side.freedom for side in spreads])
    total = float(variances.sum())
    if not total:
        return Spread(0.0, float(freedoms.sum()))
    return Spread(total**0.5, float(total**2 / (variances**2 / freedoms).sum()))


def contrast(
    left: Section, right: Section, spread: Callable[..., Spread] = spread_if_paired, unit: str = "block"
) -> Contrast:
    """Compares two figures.

    Args:
        left: Left figure.
        right: Right figure.
        spread: `spread_if_paired` for the same blocks in the same order, `spread_if_independent` for unrelated blocks.
        unit: What a figure's values are of, in the singular, for the reason.
    """
    if left.value is None or right.value is None:
        return Contrast(None, None, reason=left.reason or right.reason)
    difference = left.value - right.value
    ratio = left.value / right.value if right.value else None
    reason = left.reason or right.reason
    if reason is not None or not ratio:
        return Contrast(difference, ratio, reason=reason or "one side is 0")
    if not all((side.by_block > 0).all() for side in (left, right)):
        # A figure of 0 has no logarithm, as where a clock is coarser than the times that it measures.
        return Contrast(difference, ratio, reason=f"one side is 0 in a {unit}")
    first = (left.first, right.first)
    relative = spread(left.deviations, right.deviations, first=first)
    # To first order, a value's deviation is the value times the deviation of its logarithm.
    absolute = spread(left.value * left.deviations, right.value * right.deviations, first=first)
    if not relative.error and difference:
        return Contrast(difference, ratio, reason=_NO_SCATTER.format(unit))
    factor = float(np.exp(relative.half_width))
    # A block affects both sides by a factor, which cancels in the ratio but not in the difference.
    p = relative.p_value(float(np.log(ratio)))
    return Contrast(
        difference, ratio, absolute.around(difference), (ratio / factor, ratio * factor), p, relative.widest.freedom
    )


def visible_ratio(ratio: float, high: float, freedom: float, level: float) -> float:
    """Computes the smallest ratio above 1 that blocks with this scatter would show with 80 % power.

    Args:
        ratio: Measured ratio.
        high: Upper end of its 95 % interval.
        freedom: Degrees of freedom of the interval.
        level: Bound on p below which a difference counts as shown.

    Returns:
        1.09 if a side that is 9 % higher, or lower by the same factor, would have been shown to differ.
    """
    from scipy import special  # imported here: code that only reads traces runs without scipy

    error = np.log(high / ratio) / t_quantile(freedom)
    # The noncentrality at which t exceeds its bound with this power; it hardly ever exceeds the bound on the other
    # side.
    return float(np.exp(error * special.nctdtrinc(freedom, 1 - POWER, special.stdtrit(freedom, 1 - level / 2))))
