"""How many blocks a precision takes, and what intervals are worth whose number of blocks was found so.

A first stage of blocks says how far they scatter, and from that follows how many it takes until an interval is as
narrow as was asked for (C. Stein, "A two-sample test for a linear hypothesis whose power is independent of the
variance", *Ann. Math. Statist.* 16, 1945). Once these have run, all that ran say it anew, until the interval is as
narrow (Y. S. Chow and H. Robbins, *Ann. Math. Statist.* 36, 1965).

Blocks that lie close together by chance end a run early, so the scatter of all blocks is too small by then, and its
intervals miss too often. Of normal values, however, the mean of the first n is independent of how far the first 2, 3,
..., n scatter: a rule that looks at nothing else says nothing of the mean. With the scatter of the first stage and its
degrees of freedom, which no rule has chosen, Student's t is then exact, for each figure of these blocks and however
many of them had a say. Where trials scatter with heavy tails, the first stage may have seen none of the tail; all
blocks together have. So the wider interval of the two is taken, and the larger p. ADR 030 has both errors, measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hops.statistics.intervals import Floats, t_quantile

_DRAWS = 2000


def of_first_stage(deviations: Floats, first: int) -> Floats:
    """What the first stage alone says of how far a figure over all blocks scatters.

    Args:
        deviations: how far each block lies from the whole, a row per block, in the order in which they ran.
        first: how many blocks the first stage has.

    Returns:
        Deviations of as many blocks as the first stage has, which scatter as far less as the whole has more blocks.
    """
    own = deviations[:first]
    # What all blocks together are off by is a bias of the figure, and no scatter.
    return np.asarray((own - own.mean(axis=0) + deviations.mean(axis=0)) * math.sqrt(first / len(deviations)))


def blocks_for(half_width: float, ran: int, wanted: float) -> int:
    """How many blocks an interval takes; as many as ran if it is narrow enough.

    Args:
        half_width: of the interval over the blocks that ran.
        ran: how many did.
        wanted: half of the width that the interval is to have.
    """
    return max(ran, math.ceil(ran * (half_width / wanted) ** 2))


def half_width_of(precision: float) -> float:
    """Half of the width of an interval of a ratio's logarithm that reaches beyond the ratio by this share."""
    return math.log1p(precision)


def foreseen_half_width(scatter: float, arms: int, first: int) -> float:
    """Half of the width that the widest interval of a ratio is likely to have after the first stage: the median.

    Args:
        scatter: standard deviation of a trial's logarithm, beside what its block does to all arms.
        arms: how many are compared, each with each.
        first: how many blocks the first stage has.
    """
    trials = np.random.default_rng(0).normal(0, scatter, (_DRAWS, first, arms))
    left, right = np.triu_indices(arms, 1)
    widest = (trials[:, :, left] - trials[:, :, right]).std(axis=1, ddof=1).max(axis=1)
    return float(np.median(widest) * t_quantile(first - 1) / math.sqrt(first))


def scatter_of(half_widths: Sequence[float], blocks: int) -> float:
    """How far single trials scatter where the intervals of their ratios have these widths.

    Args:
        half_widths: of the intervals of the ratios' logarithms.
        blocks: from which they come, all of which counted for the scatter.
    """
    return float(np.sqrt(np.mean(np.square(half_widths)) * blocks / 2)) / t_quantile(blocks - 1)
