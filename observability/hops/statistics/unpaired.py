"""Two figures from blocks that have nothing to do with each other, as those of two runs: Welch's comparison.

Within a run, topologies share their blocks, and what a block does to all of them cancels (`sections.contrast`). Blocks
of two runs share nothing, so the variances of both sides add up, and the degrees of freedom are Welch's, which lets
each side scatter as it does (Welch, *Biometrika* 34, 1947; Satterthwaite, *Biometrics Bulletin* 2, 1946). One side's
standard error over its blocks is the same as within a run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from hops.statistics.over_blocks import NO_INTERVAL, Contrast, Floats, Section, standard_error
from hops.statistics.sample import CONFIDENCE


@dataclass(frozen=True, slots=True)
class Spread:
    """How far a difference of two independent figures scatters.

    Args:
        error: standard error.
        freedom: degrees of freedom.
    """

    error: float
    freedom: float

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval."""
        return float(stats.t.ppf((1 + CONFIDENCE) / 2, self.freedom) * self.error)

    def p_value(self, estimate: float) -> float:
        """Probability of an estimate at least this far from 0, either way, if the truth is 0."""
        if not estimate:
            return 1.0
        return float(2 * stats.t.sf(abs(estimate) / self.error, self.freedom)) if self.error else 0.0


def spread(left: Floats, right: Floats) -> Spread:
    """Standard error and degrees of freedom of a difference of two independent figures.

    Args:
        left: by how far each block of the one deviates from its whole; at least 2.
        right: of the other, likewise.
    """
    errors = np.array([float(standard_error(side)) ** 2 for side in (left, right)])
    within = np.array([side.size - 1 for side in (left, right)])
    total = float(errors.sum())
    if not total:
        return Spread(0.0, float(within.sum()))
    return Spread(total**0.5, float(total**2 / (errors**2 / within).sum()))


def unpaired_contrast(left: Section, right: Section) -> Contrast:
    """Compares two figures whose blocks are independent.

    Args:
        left: of the one run.
        right: of the other, of as many blocks as it has.

    Returns:
        Left less right and left through right. As in `sections.contrast`, `p` is that of the ratio.
    """
    if left.value is None or right.value is None:
        return Contrast(None, NO_INTERVAL, None, NO_INTERVAL, None, left.reason or right.reason)
    difference = left.value - right.value
    ratio = left.value / right.value if right.value else None
    reason = left.reason or right.reason
    if reason is not None or ratio is None:
        return Contrast(difference, NO_INTERVAL, ratio, NO_INTERVAL, None, reason or "one side is 0")
    relative = spread(left.deviations, right.deviations)
    # To the first order a value deviates by itself times the deviation of its logarithm.
    absolute = spread(left.value * left.deviations, right.value * right.deviations)
    if not relative.error and difference:
        return Contrast(difference, NO_INTERVAL, ratio, NO_INTERVAL, None, "the blocks do not scatter")
    reach, factor = absolute.half_width, float(np.exp(relative.half_width))
    return Contrast(
        difference,
        (difference - reach, difference + reach),
        ratio,
        (ratio / factor, ratio * factor),
        relative.p_value(float(np.log(ratio))),
        None,
    )
