"""Estimates what a treatment adds to a median in a randomised experiment, by redrawing which rows are treated.

Suppose that the treatment adds the same amount to every row that gets it. Without the treatment, the rows would have
been the same for any draw. So the observed difference of the medians is one of the differences that other draws would
have given, all equally likely. An addition is in the 95 % interval if what it leaves of the difference is not among the
2.5 % largest or the 2.5 % smallest of these differences (R. A. Fisher, *The Design of Experiments*, 1935; inverted as
by J. Hodges and E. Lehmann, *Ann. Math. Statist.* 34, 1963). Rows may drift, come in bursts and have heavy tails: the
only assumption is about the draw, which is known. So the interval is exact, for any number of blocks, including one.
ADR 043 has the alternatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from hops.statistics.intervals import CONFIDENCE, Floats, Interval

DRAWS = 999
"""Number of redraws: with the true draw, there are 1,000, so that 2.5 % is a whole number."""
_TAIL = round((1 - CONFIDENCE) / 2 * (DRAWS + 1))
_MIN_WAYS = 2 / (1 - CONFIDENCE)
"""Minimum number of possible draws: with fewer, not even the most extreme draw is rare enough."""
_MIN_PER_SIDE = 5
"""Minimum number of rows for a meaningful median."""
_LOOKS = 20
_BEYOND = 1.5
_EXACT = 0.02
"""An end is found when a step moves it by no more than this share of its distance from the estimate."""

Labels = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Effect:
    """What the treatment adds to a median, with the 95 % interval, in the unit of the values."""

    value: float | None = None
    interval: Interval = (None, None)


@dataclass(frozen=True, slots=True)
class Stratum:
    """Rows of one kind, and other possible draws of the treatment.

    Args:
        treated: Whether each row was treated.
        others: A row for each redraw: the indices of the rows on the smaller side, whether that is the treated or the
            untreated side.
        log_ways: Logarithm of the number of possible draws.
    """

    treated: Labels
    others: npt.NDArray[np.unsignedinteger]
    log_ways: float

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.treated.size

    def difference(self, values: Floats) -> float:
        """Computes the median of the treated rows minus the median of the untreated rows."""
        return float(np.median(values[self.treated]) - np.median(values[~self.treated]))

    def differences(self, values: Floats, added: float) -> Floats:
        """Computes the difference of medians for each redraw, if the treatment had added this amount.

        Args:
            values: Values of the rows as measured.
            added: Amount to subtract from the treated rows.
        """
        without = values - added * self.treated
        order = np.argsort(without)
        ordered = without[order]
        ranks = np.empty(self.size, np.int32)
        ranks[order] = np.arange(self.size, dtype=np.int32)
        fewer = self.others.shape[1]
        # Sorted ranks of the smaller side's rows, and how many of the larger side's rows are below each.
        taken = np.sort(ranks[self.others], axis=1)
        below = taken - np.arange(fewer, dtype=np.int32)
        more = self.size - fewer
        low, high = (at + np.count_nonzero(below <= at, axis=1) for at in ((more - 1) // 2, more // 2))
        of_smaller = ordered[taken[:, (fewer - 1) // 2]] + ordered[taken[:, fewer // 2]]
        difference: Floats = (of_smaller - ordered[low] - ordered[high]) / 2
        return difference if fewer == np.count_nonzero(self.treated) else -difference


def stratum_of(treated: Labels, trials: npt.ArrayLike, rng: np.random.Generator) -> Stratum | None:
    """Redraws which rows of each trial are treated, keeping their number.

    Args:
        treated: Whether each row was treated.
        trials: Trial of each row.
        rng: Random number generator.

    Returns:
        None if a side has fewer than 5 rows.
    """
    if min(np.count_nonzero(treated), np.count_nonzero(~treated)) < _MIN_PER_SIDE:
        return None
    smaller = treated if 2 * np.count_nonzero(treated) <= treated.size else ~treated
    where = np.asarray(trials)
    drawn, log_ways = [], 0.0
    for trial in np.unique(where):
        rows = np.flatnonzero(where == trial).astype(np.min_scalar_type(treated.size))
        many = int(np.count_nonzero(smaller[rows]))
        chances = rng.random((DRAWS, rows.size), dtype=np.float32)
        drawn.append(rows[np.argpartition(chances, min(many, rows.size - 1), axis=1)[:, :many]])
        log_ways -= float(special.betaln(rows.size - many + 1, many + 1)) + math.log(rows.size + 1)
    return Stratum(treated, np.concatenate(drawn, axis=1), log_ways)


def effect_of(strata: Sequence[tuple[Stratum, Floats]]) -> Effect:
    """Computes what the treatment adds: the difference of medians in each stratum, averaged with the sizes as weights.

    Args:
        strata: Strata, each with the values of its rows.

    Returns:
        The effect, without a value if there are no strata; an end is None if the draws cannot bound it.
    """
    if not strata:
        return Effect()
    weights = np.array([stratum.size for stratum, _ in strata], dtype=np.float64)
    weights /= weights.sum()
    value = float(weights @ [stratum.difference(values) for stratum, values in strata])
    if sum(stratum.log_ways for stratum, _ in strata) < math.log(_MIN_WAYS):
        return Effect(value)

    def differences(added: float) -> Floats:
        return np.sort(weights @ np.array([stratum.differences(values, added) for stratum, values in strata]))

    around = differences(value)
    low, high = (_end(value, at, differences, around) for at in (DRAWS - _TAIL, _TAIL - 1))
    # With few rows, spread unevenly over trials, the estimate itself may lie outside its interval.
    return Effect(value, (None if low is None else min(low, value), None if high is None else max(high, value)))


def _end(value: float, at: int, differences: Callable[[float], Floats], around: Floats) -> float | None:
    """Finds an end of the interval: the addition that leaves a difference which is just not too rare.

    The scatter of the draws hardly depends on what is subtracted, so each step is much nearer to the end than the step
    before. The first step is beyond the end: with few rows, several additions may qualify, and the farthest counts.

    Args:
        value: The estimate.
        at: Index of the last of the sorted differences that is not too rare.
        differences: Computes sorted differences of the draws, from the amount subtracted.
        around: Sorted differences of the draws with the estimate subtracted.
    """
    end = value - _BEYOND * float(around[at])
    for _ in range(_LOOKS):
        before, end = end, value - float(differences(end)[at])
        if abs(end - before) <= _EXACT * abs(end - value):
            return end
    return None
