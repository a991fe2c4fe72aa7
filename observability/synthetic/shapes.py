"""Distributions of the latencies of one kind of journey: factors with mean 1, and their distribution functions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import special

from hops.statistics.intervals import Floats


class Shape(Protocol):
    """A distribution of factors whose mean is 1."""

    def factors(self, normal: Floats) -> Floats:
        """Converts standard normal values to factors, in the same order."""

    def below(self, logs: Floats, shift: float) -> Floats:
        """Computes the probability that a factor's logarithm plus normal noise (`shift`) is below each value."""


@dataclass(frozen=True, slots=True)
class Lognormal:
    """A skewed distribution, like that of most latencies."""

    sigma: float

    def factors(self, normal: Floats) -> Floats:
        return np.asarray(np.exp(self.sigma * normal - self.sigma**2 / 2))

    def below(self, logs: Floats, shift: float) -> Floats:
        return np.asarray(special.ndtr((logs + self.sigma**2 / 2) / math.hypot(self.sigma, shift)))


@dataclass(frozen=True, slots=True)
class Pareto:
    """A distribution with a heavy tail; with an index above 2, its variance is finite."""

    index: float

    def factors(self, normal: Floats) -> Floats:
        return np.asarray(self._least * special.ndtr(-normal) ** (-1 / self.index))

    def below(self, logs: Floats, shift: float) -> Floats:
        # The logarithm is exponentially distributed; with a normal value added, its distribution is known too.
        beyond = logs - math.log(self._least)
        if not shift:
            return np.asarray(np.where(beyond > 0, 1 - np.exp(-self.index * np.maximum(beyond, 0)), 0.0))
        tail = -self.index * beyond + (self.index * shift) ** 2 / 2
        more = special.log_ndtr(beyond / shift - self.index * shift)
        return np.asarray(special.ndtr(beyond / shift) - np.exp(tail + more))

    @property
    def _least(self) -> float:
        return 1 - 1 / self.index


@dataclass(frozen=True, slots=True)
class Bimodal:
    """A distribution of two kinds of answers, such as cache hits and misses: a share of them is slow, by a factor."""

    slow: float = 0.3
    times: float = 3.0
    sigma: float = 0.15

    def factors(self, normal: Floats) -> Floats:
        rank, quick = special.ndtr(normal), 1 - self.slow
        is_slow = rank > quick
        within = np.where(is_slow, (rank - quick) / self.slow, rank / quick)
        mode = np.where(is_slow, self.times, 1.0)
        return np.asarray(self._quick * mode * Lognormal(self.sigma).factors(special.ndtri(within)))

    def below(self, logs: Floats, shift: float) -> Floats:
        own = Lognormal(self.sigma)
        quick, slow = (own.below(logs - math.log(self._quick * times), shift) for times in (1.0, self.times))
        return np.asarray((1 - self.slow) * quick + self.slow * slow)

    @property
    def _quick(self) -> float:
        return 1 / (1 - self.slow + self.slow * self.times)
