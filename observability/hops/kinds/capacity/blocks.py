"""What several searches show together: the rate that a topology sustains, and its ratio to another topology's rate.

A topology sustains between the rate that a search confirmed and the next rate that failed, and so may another topology
with the same result. Blocks that agree try the same rates, so more of them do not reveal more. Therefore, an interval
reaches at least as far as the widest such step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, log, sqrt

import numpy as np

from hops.kinds.capacity.search import SearchResult
from hops.run.documents.estimate import Estimate
from hops.statistics.intervals import t_quantile
from hops.statistics.over_blocks import MIN_BLOCKS, NO_INTERVAL

Rates = Sequence[float | None]
"""The confirmed rate of each block; None if the block confirmed no rate."""


def widest_step(searches: Iterable[SearchResult], precision: float) -> float:
    """Finds the largest ratio of the lowest rate that failed to the confirmed rate; it is at least the precision.

    It is larger than the precision if a rate was not confirmed, so that a lower rate was, or if the search ended early.
    """
    return max([precision, *(one.failed / one.rate for one in searches if one.rate and one.failed)])


def rate_held(rates: Rates, step: float) -> Estimate | None:
    """Computes the geometric mean of the confirmed rates of all blocks; None if there are no rates."""
    known = [log(rate) for rate in rates if rate]
    return _mean(known, step) if known else None


def rate_ratio(left: Rates, right: Rates, step: float) -> Estimate | None:
    """Computes the left topology's rate divided by the right topology's, paired by block; None if no block has both."""
    pairs = [log(a / b) for a, b in zip(left, right, strict=False) if a and b]
    return _mean(pairs, step) if pairs else None


def _mean(logs: Sequence[float], step: float) -> Estimate:
    middle, blocks = float(np.mean(logs)), len(logs)
    if blocks < MIN_BLOCKS:
        return Estimate(value=exp(middle), ci95=list(NO_INTERVAL))
    reach = max(t_quantile(blocks - 1) * sqrt(float(np.var(logs, ddof=1)) / blocks), log(step))
    return Estimate(value=exp(middle), ci95=[exp(middle - reach), exp(middle + reach)])
