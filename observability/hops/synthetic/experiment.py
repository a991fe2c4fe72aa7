"""Experiments made up from a seed whose truth is known: what the statistics are held against.

Latencies are as real ones are. They are lognormal, so skewed. Neighbours are correlated, as a queue makes them. What a
journey asks for makes it quick or slow in every trial alike, since all of them replay one tape. Each block and each
trial shifts all of its journeys by a factor of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import optimize, signal, special

from hops.analysis.latencies import Latencies, cells_of
from hops.statistics.over_blocks import MEAN
from hops.statistics.sample import PERCENTILES, Floats
from hops.units import ALL


@dataclass(frozen=True, slots=True)
class Noise:
    """How latencies scatter.

    Args:
        sigma: standard deviation of the logarithm of a journey's latency.
        correlation: of the logarithms of two neighbouring journeys' latencies, 0 to 1.
        block: standard deviation of the logarithm of a block's shift, shared by its topologies.
        trial: standard deviation of the logarithm of a trial's own shift.
        tape: share of sigma's square that belongs to what is asked for, and so to every trial alike, 0 to 1.
    """

    sigma: float = 0.45
    correlation: float = 0.3
    block: float = 0.03
    trial: float = 0.02
    tape: float = 0.0

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Factors of neighbouring journeys, each with mean 1, without what belongs to the tape."""
        sigma = self.sigma * math.sqrt(1 - self.tape)
        fresh = rng.standard_normal(count)
        fresh[1:] *= math.sqrt(1 - self.correlation**2)
        series = signal.lfilter([1.0], [1.0, -self.correlation], fresh)
        return np.asarray(np.exp(sigma * series - sigma**2 / 2))


#: Kinds of journeys: median in ms, and share of the tape.
KINDS: Mapping[str, tuple[float, float]] = {
    "product": (4.5, 0.25),
    "order_status": (4.8, 0.12),
    "update_profile": (4.9, 0.05),
    "browse": (10.5, 0.25),
    "order_history": (13.0, 0.15),
    "bulk_lines": (19.0, 0.05),
    "checkout": (20.0, 0.08),
    "login": (33.0, 0.05),
}
#: What journeys of one kind ask for: so many things, each as slow as a quantile of the normal distribution says.
_ASKED = 40


@dataclass(frozen=True, slots=True)
class Setting:
    """What kind of an experiment is made up.

    Args:
        blocks: how many.
        journeys: on the tape.
        noise: how latencies scatter.
    """

    blocks: int
    journeys: int
    noise: Noise


def draw_setting(rng: np.random.Generator, *, blocks: Sequence[int], journeys: Sequence[int]) -> Setting:
    """Draws a setting, calm or restless.

    Args:
        rng: where chance comes from.
        blocks: to choose from.
        journeys: to choose from.
    """
    shift = float(rng.choice([0.0, 0.02, 0.05, 0.10]))
    noise = Noise(
        sigma=float(rng.choice([0.3, 0.45, 0.6])),
        correlation=float(rng.choice([0.0, 0.3, 0.6])),
        block=shift,
        trial=shift * float(rng.choice([0.5, 1.0])),
        tape=float(rng.choice([0.0, 0.4])),
    )
    return Setting(int(rng.choice(blocks)), int(rng.choice(journeys)), noise)


class Simulation:
    """Experiments of one setting, all with the same tape.

    Args:
        setting: of the experiments.
        rng: where chance comes from.
    """

    def __init__(self, setting: Setting, rng: np.random.Generator) -> None:
        self.setting = setting
        self._rng = rng
        shares = np.array([share for _, share in KINDS.values()])
        self._kinds: npt.NDArray[np.int64] = rng.choice(len(KINDS), size=setting.journeys, p=shares / shares.sum())
        self._asked = rng.integers(0, _ASKED, setting.journeys)
        self._slowness = special.ndtri((np.arange(_ASKED) + 0.5) / _ASKED)
        self._rows = {name: self._kinds == index for index, name in enumerate(KINDS)}

    @cached_property
    def _tape_logs(self) -> Floats:
        medians = np.log([median for median, _ in KINDS.values()])
        noise = self.setting.noise
        slowness = noise.sigma * math.sqrt(noise.tape) * self._slowness
        return np.asarray(medians[self._kinds] + slowness[self._asked])

    def experiment(self, factors: Mapping[str, float]) -> dict[str, Latencies]:
        """Runs one.

        Args:
            factors: how slow each topology is; all equal in an A/A experiment.

        Returns:
            Latencies by topology.
        """
        noise, rng = self.setting.noise, self._rng
        found: dict[str, dict[tuple[str, int], Floats]] = {name: {} for name in factors}
        tape = np.exp(self._tape_logs + noise.sigma**2 * (1 - noise.tape) / 2)
        for block in range(1, self.setting.blocks + 1):
            shared = rng.normal(0, noise.block)
            for name, factor in factors.items():
                shift = math.exp(shared + rng.normal(0, noise.trial))
                latencies = tape * (factor * shift) * noise.draw(self.setting.journeys, rng)
                for kind, rows in self._rows.items():
                    found[name][kind, block] = latencies[rows]
        return {name: Latencies(cells_of(cells)) for name, cells in found.items()}

    def truth(self, factor: float) -> dict[str, dict[str, float]]:
        """What an experiment with endlessly many blocks would find of a topology: ms by journey and metric."""
        noise = self.setting.noise
        spread = math.sqrt(noise.sigma**2 * (1 - noise.tape) + noise.block**2 + noise.trial**2)
        found: dict[str, dict[str, float]] = {}
        for journey in (ALL, *KINDS):
            logs = self._tape_logs if journey == ALL else self._tape_logs[self._rows[journey]]
            if logs.size:
                found[journey] = _figures(logs + math.log(factor), spread)
        return found


def _figures(logs: Floats, spread: float) -> dict[str, float]:
    """Mean and percentiles of a mixture of lognormals, one for each value of the tape."""
    centres, counts = np.unique(logs, return_counts=True)
    weights = counts / counts.sum()
    low, high = centres[0] - 6 * spread, centres[-1] + 6 * spread

    def percentile(share: float) -> float:
        def off(at: float) -> float:
            return float(weights @ special.ndtr((at - centres) / spread)) - share

        return math.exp(optimize.brentq(off, low, high, xtol=1e-6))

    mean = float(weights @ np.exp(centres + spread**2 / 2))
    return {MEAN: mean, **{name: percentile(share) for name, share in PERCENTILES.items()}}
