"""How fast something grows, and whether that is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from hops.statistics.intervals import CONFIDENCE

SETTLING = 0.2
"""Share of a load at its begin that is left out: caches fill, and pools open."""
WINDOWS = 30
"""Looks are averaged in so many windows at most, since looks next to each other are alike."""
MIN_WINDOWS = 6
MIN_HOURS = 0.75
"""What grows in less time may be what fills once, which seemed to be 1 to 5 MiB an hour in 20 to 40 min."""
HOUR_S = 3_600


@dataclass(frozen=True, slots=True)
class Trend:
    """How something changes.

    Attributes:
        mean: Its mean.
        per_hour: Its slope, by the median of the slopes between any two windows (Theil and Sen).
        ci95: Interval of the slope (Sen 1968, "Estimates of the regression coefficient based on Kendall's tau").
        hours: How long it was watched.
    """

    mean: float
    per_hour: float
    ci95: tuple[float, float]
    hours: float

    @property
    def tells(self) -> bool:
        """Whether it was watched for long enough to tell growth from what fills once."""
        return self.hours >= MIN_HOURS

    def grows(self, by_per_hour: float, least: float = 0.0) -> bool:
        """Whether it is shown to grow.

        Args:
            by_per_hour: Growth that may be.
            least: Growth over the whole time below which it counts as none.
        """
        return self.tells and self.ci95[0] > by_per_hour and self.per_hour * self.hours > least


def trend(at_s: Sequence[float], values: Sequence[float]) -> Trend | None:
    """The trend of values after the time of settling; None of too few.

    Args:
        at_s: When each was seen, in seconds, ascending.
        values: The values.
    """
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
