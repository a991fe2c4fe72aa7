"""Percentiles, means and their 95 % intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from hops.errors import NotEnoughDataError

Floats = npt.NDArray[np.float64]
Interval = tuple[float | None, float | None]

CONFIDENCE = 0.95
PERCENTILES: dict[str, float] = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999}

# Interval ends from 2,000 resamples scatter by about 1 % of the interval's width: far below what is printed.
RESAMPLES = 2000
# Resampled values held in memory at once (16 MB).
_BATCH_VALUES = 2_000_000
# A median of fewer says nothing, and its bootstrap repeats the same few values.
_LEAST_PER_SIDE = 5


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of two medians with its 95 % interval, in the unit of the samples."""

    value: float
    interval: Interval


def t_quantile(freedom: float) -> float:
    """Student's t of a 95 % interval with so many degrees of freedom."""
    return float(special.stdtrit(freedom, (1 + CONFIDENCE) / 2))


def lies_beyond(count: int, share: float) -> bool:
    """Whether a sample says of a percentile only that it is larger than all values.

    Args:
        count: number of values.
        share: between 0 and 1.
    """
    return share**count > (1 + CONFIDENCE) / 2


def describe(sample: npt.ArrayLike, *, seed: int = 0) -> tuple[dict[str, float | None], dict[str, Interval]]:
    """Describes one sample.

    Args:
        sample: one-dimensional, finite.
        seed: of the bootstrap.

    Returns:
        `mean` and percentiles (interpolated linearly between order statistics), and their 95 % intervals, both by name;
        an end of an interval is None where the sample is too small for it, and so is a percentile of which the sample
        says only that it `lies_beyond` (p99 of 2 values, p99.9 of up to 25).

    Raises:
        NotEnoughDataError: the sample is empty.
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
    """95 % interval of a percentile, without assuming a distribution.

    The number of values below the true percentile is binomial, so two order statistics enclose it (Conover,
    *Practical Nonparametric Statistics*, 3.2). With n values, an upper end for share p exists only if p^n <= 2.5 %:
    368 values for p99, 3,688 for p99.9.

    Args:
        sample: one-dimensional.
        share: between 0 and 1.

    Returns:
        Lower and upper end, each None where the sample is too small for it.
    """
    values = np.asarray(sample, dtype=np.float64)
    if not values.size:
        return (None, None)
    test: Any = stats.quantile_test(values, p=share)
    return _ends(test.confidence_interval(confidence_level=CONFIDENCE))


def mean_interval(sample: npt.ArrayLike, *, seed: int = 0) -> Interval:
    """95 % interval of the mean, by percentile bootstrap.

    Args:
        sample: one-dimensional; one value has no interval.
        seed: same seed and sample, same interval.
    """
    values = np.asarray(sample, dtype=np.float64)
    if values.size < 2:
        return (None, None)
    return _bootstrap([values], np.mean, seed)


def observer_effect(strata: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]], *, seed: int = 0) -> Difference | None:
    """What tracing a journey adds to its median latency.

    Which journeys are sampled is drawn at random within a trial, so this is a randomised experiment. Journeys differ
    more from each other than tracing changes any of them, so it is stratified: the difference of the medians is taken
    within each journey, and averaged by the journeys' share of the load. The interval is a percentile bootstrap that
    resamples sampled and unsampled of each journey apart.

    Args:
        strata: (latencies of sampled, latencies of unsampled) for each journey. A journey with fewer than 5 of either
            is left out.
        seed: of the bootstrap.

    Returns:
        Sampled minus unsampled, in the unit of the latencies; None if no journey has enough of both.
    """
    kept = _kept(strata)
    if not kept:
        return None
    effect = _effect_of(kept)
    return Difference(float(effect(*kept)), _bootstrap(kept, effect, seed))


def stratified_effect(strata: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]]) -> float | None:
    """The value of `observer_effect` alone."""
    kept = _kept(strata)
    return float(_effect_of(kept)(*kept)) if kept else None


def _kept(strata: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]]) -> list[Floats]:
    kept: list[Floats] = []
    for pair in strata:
        sampled, unsampled = (np.asarray(side, dtype=np.float64) for side in pair)
        if min(sampled.size, unsampled.size) >= _LEAST_PER_SIDE:
            kept += [sampled, unsampled]
    return kept


def _effect_of(kept: Sequence[Floats]) -> Callable[..., Any]:
    """A function that gives the mean difference of medians, for the sizes of these strata."""
    sizes = np.array([values.size for values in kept], dtype=np.float64)
    weights = sizes.reshape(-1, 2).sum(axis=1) / sizes.sum()

    def effect(*sides: Any, axis: int = -1) -> Any:
        medians = [np.median(side, axis=axis) for side in sides]
        differences = np.array(medians[::2]) - np.array(medians[1::2])
        return np.tensordot(weights, differences, axes=1)

    return effect


def _bootstrap(samples: Sequence[Floats], statistic: Callable[..., Any], seed: int) -> Interval:
    """95 % interval of a statistic, by percentile bootstrap; each sample is drawn from apart."""
    result = stats.bootstrap(
        tuple(samples),
        statistic,
        n_resamples=RESAMPLES,
        batch=max(1, _BATCH_VALUES // sum(values.size for values in samples)),
        confidence_level=CONFIDENCE,
        method="percentile",
        vectorized=True,
        rng=np.random.default_rng(seed),
    )
    return _ends(result.confidence_interval)


def _ends(interval: Any) -> Interval:
    low, high = (float(end) if np.isfinite(end) else None for end in (interval.low, interval.high))
    return low, high
