"""Synthetic experiments whose truth is known: what the statistics are checked against.

Latencies are as real ones are. They are lognormal, so skewed. Neighbours are correlated, as a queue makes them. What a
journey asks for makes it quick or slow in every trial alike, since all of them replay one tape. Each block and each
trial shifts all of its journeys by a factor of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from hops.analysis.latencies import Latencies, cells_of
from hops.statistics.over_blocks import MEAN
from hops.statistics.sample import PERCENTILES, Floats
from hops.synthetic.shop import JOURNEY_SHAPES
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
        # Takes half a second to import, which every command would wait for.
        from scipy import signal

        sigma = self.sigma * math.sqrt(1 - self.tape)
        fresh = rng.standard_normal(count)
        fresh[1:] *= math.sqrt(1 - self.correlation**2)
        series = signal.lfilter([1.0], [1.0, -self.correlation], fresh)
        return np.asarray(np.exp(sigma * series - sigma**2 / 2))


#: Journeys of one name ask for so many different things, each as slow as a quantile of the normal distribution says.
_ASKED = 40


@dataclass(frozen=True, slots=True)
class Setting:
    """What kind of experiment is simulated.

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
        self.setting, self._rng = setting, rng
        noise = setting.noise
        shapes = dict(sorted(JOURNEY_SHAPES.items(), key=lambda item: item[1].median_ms))
        shares = np.array([shape.weight / 100 for shape in shapes.values()])
        journeys = rng.choice(len(shapes), size=setting.journeys, p=shares / shares.sum())
        asked = rng.integers(0, _ASKED, setting.journeys)
        slowness = noise.sigma * math.sqrt(noise.tape) * special.ndtri((np.arange(_ASKED) + 0.5) / _ASKED)
        medians = np.log([shape.median_ms for shape in shapes.values()])
        self._tape_logs: Floats = medians[journeys] + slowness[asked]
        self._rows = {name: journeys == index for index, name in enumerate(shapes)}

    def experiment(self, factors: Mapping[str, float]) -> dict[str, Latencies]:
        """Runs one.

        Args:
            factors: how slow each topology is; all equal in an A/A experiment.

        Returns:
            Latencies by topology.
        """
        noise, rng = self.setting.noise, self._rng
        latencies: dict[str, dict[tuple[str, int], Floats]] = {name: {} for name in factors}
        tape = np.exp(self._tape_logs + noise.sigma**2 * (1 - noise.tape) / 2)
        for block in range(1, self.setting.blocks + 1):
            shared = rng.normal(0, noise.block)
            for name, factor in factors.items():
                shift = math.exp(shared + rng.normal(0, noise.trial))
                drawn = tape * (factor * shift) * noise.draw(self.setting.journeys, rng)
                latencies[name] |= {(journey, block): drawn[rows] for journey, rows in self._rows.items()}
        return {name: Latencies(cells_of(cells)) for name, cells in latencies.items()}

    def truth(self, factor: float) -> dict[str, dict[str, float]]:
        """What an experiment with endlessly many blocks would find of a topology: ms by journey and metric."""
        noise = self.setting.noise
        spread = math.sqrt(noise.sigma**2 * (1 - noise.tape) + noise.block**2 + noise.trial**2)
        logs = self._tape_logs + math.log(factor)
        journeys = {name: logs[rows] for name, rows in self._rows.items() if rows.any()}
        return {name: _figures(values, spread) for name, values in {ALL: logs, **journeys}.items()}


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
