"""How many blocks a precision needs, and valid intervals for a number of blocks that was chosen in this way.

A first stage of blocks shows how much they scatter. That determines how many blocks make an interval as narrow as
requested (C. Stein, "A two-sample test for a linear hypothesis whose power is independent of the variance", *Ann. Math.
Statist.* 16, 1945). Once this many blocks have run, the number is computed again from all blocks that ran, until the
interval is that narrow (Y. S. Chow and H. Robbins, *Ann. Math. Statist.* 36, 1965).

Blocks that agree by chance end a run early. Then the scatter of all blocks is too small, and intervals based on it miss
the truth too often. For normal values, however, the mean of the first n is independent of the scatter of the first 2,
3, ..., n: a rule that uses only the scatter is independent of the mean. The scatter of the first stage and its degrees
of freedom were chosen by no rule. With them, Student's t is exact, for each figure of these blocks and any number of
figures in the rule. If trials scatter with heavy tails, the first stage may have missed the tail; all blocks together
have not. So the wider interval of the two is used, and the larger p. ADR 030 has measurements of both errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hops.statistics.intervals import Floats, t_quantile

_DRAWS = 2000


def of_first_stage(deviations: Floats, first: int) -> Floats:
    """Scales the scatter of the first stage to a figure over all blocks.

    Args:
        deviations: Deviation of each block from the overall value, a row per block, in the order in which blocks ran.
        first: Number of blocks in the first stage.

    Returns:
        Deviations, one for each block of the first stage, scaled down for the larger total number of blocks.
    """
    own = deviations[:first]
    # The common deviation of all blocks is a bias of the figure, not scatter.
    return np.asarray((own - own.mean(axis=0) + deviations.mean(axis=0)) * math.sqrt(first / len(deviations)))


def blocks_for(half_width: float, ran: int, wanted: float) -> int:
    """Estimates how many blocks an interval of the requested width needs; at least the number that ran.

    Args:
        half_width: Half of the width of the interval over the blocks that ran.
        ran: Number of blocks that ran.
        wanted: Half of the requested width.
    """
    return max(ran, math.ceil(ran * (half_width / wanted) ** 2))


def half_width_of(precision: float) -> float:
    """Computes half of the width, in logarithms, of an interval whose upper end is above the ratio by this share."""
    return math.log1p(precision)


def foreseen_half_width(scatter: float, arms: int, first: int) -> float:
    """Predicts the median half-width, after the first stage, of the widest interval of a ratio.

    Args:
        scatter: Standard deviation of the logarithm of a trial's figure, without its block's common effect on all arms.
        arms: Number of arms, all compared with each other.
        first: Number of blocks in the first stage.
    """
    trials = np.random.default_rng(0).normal(0, scatter, (_DRAWS, first, arms))
    left, right = np.triu_indices(arms, 1)
    widest = (trials[:, :, left] - trials[:, :, right]).std(axis=1, ddof=1).max(axis=1)
    return float(np.median(widest) * t_quantile(first - 1) / math.sqrt(first))


def scatter_of(half_widths: Sequence[float], blocks: int) -> float:
    """Computes the scatter of single trials whose ratios have intervals of these widths.

    Args:
        half_widths: Half-widths of the intervals of the ratios' logarithms.
        blocks: Number of blocks behind these intervals, all of which counted for the scatter.
    """
    return float(np.sqrt(np.mean(np.square(half_widths)) * blocks / 2)) / t_quantile(blocks - 1)
