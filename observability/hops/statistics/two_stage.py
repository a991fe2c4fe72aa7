"""How many blocks a precision needs, and valid intervals for a number of blocks that was chosen in this way.

A first stage of blocks shows how much they scatter, and so how many blocks make an interval as narrow as requested (C.
Stein, *Ann. Math. Statist.* 16, 1945). Once this many blocks have run, the number is computed again from all blocks
that ran, until the interval is that narrow (Y. S. Chow and H. Robbins, *Ann. Math. Statist.* 36, 1965).

Blocks that agree by chance end a run early, so their scatter is too small. For normal values, a rule that uses only the
scatter is independent of the mean. So Student's t is exact with the first stage's scatter and degrees of freedom, which
no rule chose. With heavy tails, the first stage may have missed the tail. So the wider interval of the two is used, and
the larger p (ADR 030).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hops.statistics.intervals import Floats, t_quantile

_DRAWS = 2000


def of_first_stage(deviations: Floats, first: int) -> Floats:
    """Scales the scatter of the first stage to a figure over all blocks; blocks are rows, in the order of the run."""
    own = deviations[:first]
    # The common deviation of all blocks is a bias of the figure, not scatter.
    return np.asarray((own - own.mean(axis=0) + deviations.mean(axis=0)) * math.sqrt(first / len(deviations)))


def blocks_for(half_width: float, ran: int, wanted: float) -> int:
    """Estimates how many blocks an interval of the requested width needs; at least the number that ran."""
    return max(ran, math.ceil(ran * (half_width / wanted) ** 2))


def half_width_of(precision: float) -> float:
    """Computes half of the width, in logarithms, of an interval whose upper end is above the ratio by this share."""
    return math.log1p(precision)


def foreseen_half_width(scatter: float, arms: int, first: int) -> float:
    """Predicts the median half-width, after the first stage, of the widest interval of a ratio.

    Args:
        scatter: Standard deviation of the logarithm of a trial's figure, without its block's common effect on all arms.
    """
    trials = np.random.default_rng(0).normal(0, scatter, (_DRAWS, first, arms))
    left, right = np.triu_indices(arms, 1)
    widest = (trials[:, :, left] - trials[:, :, right]).std(axis=1, ddof=1).max(axis=1)
    return float(np.median(widest) * t_quantile(first - 1) / math.sqrt(first))


def scatter_of(half_widths: Sequence[float], blocks: int) -> float:
    """Computes the scatter of single trials, whose ratios have intervals of these half-widths, in logarithms."""
    return float(np.sqrt(np.mean(np.square(half_widths)) * blocks / 2)) / t_quantile(blocks - 1)
