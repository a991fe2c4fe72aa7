"""How fast a figure grows, and whether the growth is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from hops.statistics.intervals import CONFIDENCE

SETTLING = 0.2
"""Share of the load that is left out at its beginning, while caches fill and pools open."""
WINDOWS = 30
"""Maximum number of windows over which samples are averaged, since adjacent samples are correlated."""
MIN_WINDOWS = 6
MIN_HOURS = 0.75
"""Minimum time to tell growth from one-time filling, which looked like growth of 1 to 5 MiB an hour in 20 to 40 min."""
HOUR_S = 3_600


@dataclass(frozen=True, slots=True)
class Trend:
    """How a figure changes.

    Attributes:
        per_hour: Slope, as the median of the slopes between any two windows (Theil and Sen).
        ci95: Interval of the slope (Sen 1968, "Estimates of the regression coefficient based on Kendall's tau").
    """

    mean: float
    per_hour: float
    ci95: tuple[float, float]
    hours: float

    @property
    def tells(self) -> bool:
        """Whether the observation was long enough to tell growth from one-time filling."""
        return self.hours >= MIN_HOURS

    def grows(self, by_per_hour: float, least: float = 0.0) -> bool:
        """Whether the figure is shown to grow by more than `by_per_hour`, and by `least` over the whole time."""
        return self.tells and self.ci95[0] > by_per_hour and self.per_hour * self.hours > least


def trend(at_s: Sequence[float], values: Sequence[float]) -> Trend | None:
    """Computes the trend of values after the settling time, from ascending times; None if there are too few values."""
    at, seen = np.asarray(at_s, float), np.asarray(values, float)
    settled = at >= SETTLING * at[-1] if at.size else np.zeros(0, bool)
    count = min(WINDOWS, int(settled.sum()))
    if count < MIN_WINDOWS:
        return None
    windows = [
        (float(times.mean()), float(of.mean()))
        for times, of in zip(np.array_split(at[settled], count), np.array_split(seen[settled], count), strict=True)
    ]
    times, means = (np.array(column) for column in zip(*windows, strict=True))
    slope, _, low, high = stats.theilslopes(means, times / HOUR_S, CONFIDENCE)
    return Trend(float(means.mean()), float(slope), (float(low), float(high)), float(times[-1] - times[0]) / HOUR_S)
