"""Two figures against each other: difference, ratio, their 95 % intervals, and a p value.

How far a difference scatters depends on how the blocks of both sides belong together. Topologies of one run share their
blocks, and what a block does to all of them cancels (`paired`). Blocks of two runs share nothing (`independent`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from hops.statistics.intervals import Floats, Interval, t_quantile
from hops.statistics.over_blocks import NO_INTERVAL, Section, Spread, spread_of

NO_SCATTER = "the blocks do not scatter"
"""Why two figures that differ have no interval if each is the same in all blocks."""
#: A difference counts as visible if it would be shown in this share of experiments.
POWER = 0.8


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two figures, left against right.

    Args:
        difference: left minus right; None if a side has no value.
        ratio: left divided by right; None if a side has no value, or right is 0.
        interval: of the difference.
        ratio_interval: of the ratio.
        p: probability of a ratio at least this far from 1 if there is no difference; below 5 % if and only if the
            ratio's interval leaves out 1.
        freedom: degrees of freedom of the t distribution that p and the ratio's interval are from.
        reason: why there are no intervals and no p; None if there are.
    """

    difference: float | None
    ratio: float | None
    interval: Interval = NO_INTERVAL
    ratio_interval: Interval = NO_INTERVAL
    p: float | None = None
    freedom: float | None = None
    reason: str | None = None


def paired(left: Floats, right: Floats, first: Sequence[int | None] = (None, None)) -> Spread:
    """How far a difference scatters whose sides share their blocks.

    Args:
        left: how far each block of one side deviates from its whole.
        right: the same of the other side, for the same blocks in the same order.
        first: as `spread_of` has it, of each side.
    """
    return spread_of(left - right, first[0])


def independent(*sides: Floats, first: Sequence[int | None] = ()) -> Spread:
    """How far a difference or sum scatters whose sides have nothing to do with each other.

    The variances add up, and the degrees of freedom are Welch's, which let each side scatter as it does (Welch,
    *Biometrika* 34, 1947; Satterthwaite, *Biometrics Bulletin* 2, 1946).

    Args:
        sides: how far each block of a side deviates from the side's whole; at least 2, of as many blocks as it has.
        first: as `spread_of` has it, of each side.
    """
    spreads = [spread_of(side, of_side).widest for side, of_side in zip_longest(sides, first)]
    variances = np.array([side.error**2 for side in spreads])
    freedoms = np.array([side.freedom for side in spreads])
    total = float(variances.sum())
    if not total:
        return Spread(0.0, float(freedoms.sum()))
    return Spread(total**0.5, float(total**2 / (variances**2 / freedoms).sum()))


def contrast(left: Section, right: Section, spread: Callable[..., Spread] = paired) -> Contrast:
    """Compares two figures.

    Args:
        left: one figure.
        right: the other.
        spread: `paired` if both have the same blocks in the same order, `independent` if they have none in common.
    """
    if left.value is None or right.value is None:
        return Contrast(None, None, reason=left.reason or right.reason)
    difference = left.value - right.value
    ratio = left.value / right.value if right.value else None
    reason = left.reason or right.reason
    if reason is not None or ratio is None:
        return Contrast(difference, ratio, reason=reason or "one side is 0")
    first = (left.first, right.first)
    relative = spread(left.deviations, right.deviations, first=first)
    # To the first order a value deviates by itself times the deviation of its logarithm.
    absolute = spread(left.value * left.deviations, right.value * right.deviations, first=first)
    if not relative.error and difference:
        return Contrast(difference, ratio, reason=NO_SCATTER)
    factor = float(np.exp(relative.half_width))
    # What a block does to both sides it does by a factor: it cancels in the ratio, and not in the difference.
    p = relative.p_value(float(np.log(ratio)))
    return Contrast(
        difference, ratio, absolute.around(difference), (ratio / factor, ratio * factor), p, relative.widest.freedom
    )


def visible_ratio(ratio: float, high: float, freedom: float, level: float) -> float:
    """The smallest ratio above 1 that blocks which scatter like these would show with 80 % power.

    Args:
        ratio: that was measured.
        high: upper end of its 95 % interval.
        freedom: degrees of freedom of the interval.
        level: below which p shows a difference.

    Returns:
        1.09 if a side that is 9 % higher would have been shown, or one that is lower by the same factor.
    """
    from scipy import special  # not at the top: what reads traces has no scipy

    error = np.log(high / ratio) / t_quantile(freedom)
    # The noncentrality at which t exceeds its bound that often; the chance of exceeding it on the other side is nil.
    return float(np.exp(error * special.nctdtrinc(freedom, 1 - POWER, special.stdtrit(freedom, 1 - level / 2))))
