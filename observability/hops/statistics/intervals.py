"""Percentiles, means and their 95 % intervals."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from hops.errors import NotEnoughDataError
from hops.statistics import student

Floats = npt.NDArray[np.float64]
Interval = tuple[float | None, float | None]

CONFIDENCE = 0.95
PERCENTILES: dict[str, float] = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999}

# Interval ends from 2,000 resamples scatter by about 1 % of the interval's width: far below the printed precision.
RESAMPLES = 2000
# Maximum number of resampled values in memory (16 MB).
_BATCH_VALUES = 2_000_000


def t_quantile(freedom: float) -> float:
    """Computes Student's t of a 95 % interval with this many degrees of freedom."""
    return student.quantile(CONFIDENCE, freedom)


def lies_beyond(count: int, share: float) -> bool:
    """Whether a sample only shows that a percentile is larger than all values.

    Args:
        count: Number of values.
        share: Share of the percentile, between 0 and 1.
    """
    return share**count > (1 + CONFIDENCE) / 2


def describe(sample: npt.ArrayLike, *, seed: int = 0) -> tuple[dict[str, float | None], dict[str, Interval]]:
    """Describes one sample.

    Args:
        sample: Values, one-dimensional, finite.
        seed: Seed of the bootstrap.

    Returns:
        `mean` and percentiles (interpolated linearly between order statistics), and their 95 % intervals, both by
        name. An end of an interval is None if the sample is too small for it. A percentile that `lies_beyond` the
        sample (p99 of 2 values, p99.9 of up to 25) is also None.

    Raises:
        NotEnoughDataError: The sample is empty.
    """
    values = np.sort(np.asarray(sample, dtype=np.float64))
    if not values.size:
        raise NotEnoughDataError("cannot describe an empty sample")
    quantiles = {
        name: None if lies_beyond(values.size, share) else float(np.quantile(values, share))
        for name, share in PERCENTILES.items()
    }
    intervals = {
        name: (None, None) if quantiles[name] is None else percentile_interval(values, share)
        for name, share in PERCENTILES.items()
    }
    return (
        {"mean": float(values.mean()), **quantiles},
        {"mean": mean_interval(values, seed=seed), **intervals},
    )


def percentile_interval(sample: npt.ArrayLike, share: float) -> Interval:
    """Computes the 95 % interval of a percentile, without assuming a distribution.

    The number of values below the true percentile is binomial, so two order statistics enclose it (Conover,
    *Practical Nonparametric Statistics*, 3.2). With n values, an upper end for share p exists only if p^n <= 2.5 %:
    368 values for p99, 3,688 for p99.9.

    Args:
        sample: Values, one-dimensional.
        share: Share of the percentile, between 0 and 1.

    Returns:
        Lower and upper end, each None if the sample is too small for it.
    """
    values = np.sort(np.asarray(sample, dtype=np.float64))
    if not values.size:
        return (None, None)
    low, high = _ranks(values.size, share)
    return float(values[low]) if low >= 0 else None, float(values[high]) if high < values.size else None


@cache
def _ranks(count: int, share: float) -> tuple[int, int]:
    """Gives the indices of the order statistics that enclose a percentile; out of range if there are none."""
    from scipy import stats  # imported here: code that only reads traces runs without scipy

    outside = (1 - CONFIDENCE) / 2
    return int(stats.binom.ppf(outside, count, share)) - 1, int(stats.binom.isf(outside, count, share))


def mean_interval(sample: npt.ArrayLike, *, seed: int = 0) -> Interval:
    """Computes the 95 % interval of the mean, by percentile bootstrap.

    Args:
        sample: Values, one-dimensional; a single value has no interval.
        seed: Seed; the same seed and sample give the same interval.
    """
    values = np.asarray(sample, dtype=np.float64)
    if values.size < 2:
        return (None, None)
    from scipy import stats

    result = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=RESAMPLES,
        batch=max(1, _BATCH_VALUES // values.size),
        confidence_level=CONFIDENCE,
        method="percentile",
        vectorized=True,
        rng=np.random.default_rng(seed),
    )
    return _ends(result.confidence_interval)


def _ends(interval: Any) -> Interval:
    low, high = (float(end) if np.isfinite(end) else None for end in (interval.low, interval.high))
    return low, high
