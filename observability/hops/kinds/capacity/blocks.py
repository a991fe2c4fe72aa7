"""What several searches show together: the rate that a topology sustains, and its ratio to another topology's rate.

A search ends between two rates whose ratio is its precision, so equal results may hide a difference as large as that.
Therefore, the variance over blocks is taken to be at least that of a rate distributed uniformly between two such rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, sqrt

import numpy as np

from hops.run.documents.estimate import Estimate
from hops.statistics.intervals import t_quantile
from hops.statistics.over_blocks import MIN_BLOCKS, NO_INTERVAL

Rates = Sequence[float | None]
"""The confirmed rate of each block; None if the block confirmed no rate."""


def rate_held(rates: Rates, precision: float) -> Estimate | None:
    """Computes the geometric mean of the confirmed rates of all blocks; None if there are no rates."""
    known = [log(rate) for rate in rates if rate]
    return _mean(known, _step(precision)) if known else None


def rate_ratio(left: Rates, right: Rates, precision: float) -> Estimate | None:
    """Computes the left topology's rate divided by the right topology's, paired by block; None if no block has both."""
    pairs = [log(a / b) for a, b in zip(left, right, strict=False) if a and b]
    return _mean(pairs, 2 * _step(precision)) if pairs else None


def _step(precision: float) -> float:
    """Computes the variance of a rate's logarithm that is distributed uniformly between the two rates of a search."""
    return log(precision) ** 2 / 12


def _mean(logs: Sequence[float], least: float) -> Estimate:
    middle, blocks = float(np.mean(logs)), len(logs)
    if blocks < MIN_BLOCKS:
        return Estimate(value=exp(middle), ci95=list(NO_INTERVAL))
    reach = t_quantile(blocks - 1) * sqrt(max(float(np.var(logs, ddof=1)), least) / blocks)
    return Estimate(value=exp(middle), ci95=[exp(middle - reach), exp(middle + reach)])
