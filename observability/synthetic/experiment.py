"""Synthetic experiments whose true values are known, to test the statistics.

Latencies are realistic. They are skewed, in one of several shapes. Neighbouring journeys are correlated, as in a queue.
A journey's request makes it fast or slow in every trial alike, since all trials replay one tape. Each block and each
trial shifts all of its journeys by a separate factor, and some trials may be slow throughout.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import optimize, special

from hops.analysis.latencies import Latencies, cells_of
from hops.statistics.intervals import PERCENTILES, Floats
from hops.statistics.over_blocks import MEAN
from hops.units import ALL, NS_PER_MS
from synthetic.shapes import Lognormal, Shape
from synthetic.shop import JOURNEY_SHAPES


@dataclass(frozen=True, slots=True)
class Noise:
    """How latencies scatter.

    Args:
        sigma: Standard deviation of the logarithm of a journey's latency.
        correlation: Correlation of the logarithms of two neighbouring journeys' latencies, 0 to 1.
        block: Standard deviation of the logarithm of a block's shift, shared by its topologies.
        trial: Standard deviation of the logarithm of a trial's own shift.
        tape: Share of the variance (sigma squared) that the requests cause, which is the same in every trial, 0 to 1.
        shape: Shape of the latencies of one kind of journey; lognormal with sigma if None.
        slow_trials: Share of the trials that are slow throughout, 0 to 1.
        slow_by: Factor by which these trials are slower.
    """

    sigma: float = 0.45
    correlation: float = 0.3
    block: float = 0.03
    trial: float = 0.02
    tape: float = 0.0
    shape: Shape | None = None
    slow_trials: float = 0.0
    slow_by: float = 1.3

    @property
    def own_shape(self) -> Shape:
        """Distribution of the scatter that does not come from the tape."""
        return self.shape or Lognormal(self.sigma * math.sqrt(1 - self.tape))

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Draws factors of neighbouring journeys, each with mean 1, without the tape's factors."""
        # The import takes half a second, for which every command would wait.
        from scipy import signal

        fresh = rng.standard_normal(count)
        fresh[1:] *= math.sqrt(1 - self.correlation**2)
        return self.own_shape.factors(signal.lfilter([1.0], [1.0, -self.correlation], fresh))

    def draw_trial(self, rng: np.random.Generator) -> float:
        """Draws the factor of one trial, without its block's factor."""
        slow = self.slow_by if self.slow_trials and rng.random() < self.slow_trials else 1.0
        return slow * math.exp(rng.normal(0, self.trial))

    @property
    def mean(self) -> float:
        """Computes the mean factor over infinitely many blocks and trials."""
        return (1 + self.slow_trials * (self.slow_by - 1)) * math.exp((self.block**2 + self.trial**2) / 2)

    def below(self, logs: Floats) -> Floats:
        """Computes the probability that a factor is below each value, given as logarithms, over all trials."""
        shift = math.hypot(self.block, self.trial)
        usual = self.own_shape.below(logs, shift)
        if not self.slow_trials:
            return usual
        slow = self.own_shape.below(logs - math.log(self.slow_by), shift)
        return np.asarray((1 - self.slow_trials) * usual + self.slow_trials * slow)


_ASKED = 40
"""Number of different requests for each kind of journey; their slowness follows quantiles of a normal distribution."""
_FAR = 5.0
"""Maximum distance of a percentile from the mean, on a logarithmic scale."""
_EVEN = 2.0
"""Concentration of the Dirichlet distribution of a journey's parts: each varies by about a third around its share."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The kind of experiment to simulate."""

    blocks: int
    journeys: int
    noise: Noise


def draw_setting(rng: np.random.Generator, *, blocks: Sequence[int], journeys: Sequence[int]) -> Setting:
    """Draws a setting, calm or noisy, with one of these numbers of blocks and of journeys."""
    shift = float(rng.choice([0.0, 0.02, 0.05, 0.10]))
    noise = Noise(
        sigma=float(rng.choice([0.3, 0.45, 0.6])),
        correlation=float(rng.choice([0.0, 0.3, 0.6])),
        block=shift,
        trial=shift * float(rng.choice([0.5, 1.0])),
        tape=float(rng.choice([0.0, 0.4])),
    )
    return Setting(int(rng.choice(blocks)), int(rng.choice(journeys)), noise)


@dataclass(frozen=True, slots=True)
class Distant:
    """A topology with distant customers: how many times slower it is, and the round trips of each journey."""

    factor: float
    round_trips: Mapping[str, float]


class Simulation:
    """Experiments with one setting, all with the same tape."""

    def __init__(self, setting: Setting, rng: np.random.Generator) -> None:
        self.setting, self._rng = setting, rng
        noise = setting.noise
        shapes = dict(sorted(JOURNEY_SHAPES.items(), key=lambda item: item[1].median_ms))
        shares = np.array([shape.weight / 100 for shape in shapes.values()])
        journeys = rng.choice(len(shapes), size=setting.journeys, p=shares / shares.sum())
        asked = rng.integers(0, _ASKED, setting.journeys)
        slowness = noise.sigma * math.sqrt(noise.tape) * special.ndtri((np.arange(_ASKED) + 0.5) / _ASKED)
        # The medians are those of lognormal latencies; other shapes have the same means.
        means = np.log([shape.median_ms for shape in shapes.values()]) + noise.sigma**2 * (1 - noise.tape) / 2
        self._tape_logs: Floats = means[journeys] + slowness[asked]
        self._rows = {name: journeys == index for index, name in enumerate(shapes)}

    def experiment(self, factors: Mapping[str, float], only: str | None = None) -> dict[str, Latencies]:
        """Runs one experiment, with a factor on the time of each topology; on one journey, if `only` names it."""
        noise, rng = self.setting.noise, self._rng
        latencies: dict[str, dict[tuple[str, int], Floats]] = {name: {} for name in factors}
        tape = np.exp(self._tape_logs)
        slowed = np.ones_like(tape, dtype=bool) if only is None else self._rows[only]
        for block in range(1, self.setting.blocks + 1):
            shared = math.exp(rng.normal(0, noise.block))
            for name, factor in factors.items():
                drawn = tape * (shared * noise.draw_trial(rng)) * noise.draw(self.setting.journeys, rng)
                drawn[slowed] *= factor
                latencies[name] |= {(journey, block): drawn[rows] for journey, rows in self._rows.items()}
        return {name: Latencies(cells_of(cells)) for name, cells in latencies.items()}

    def hops(self, parts: Mapping[str, Mapping[str, float]], sample: float) -> dict[str, pl.DataFrame]:
        """Runs one experiment, and splits the sampled journeys into parts.

        Args:
            sample: Share of the journeys that are traced, 0 to 1.

        Returns:
            Rows of `rows.HOPS`, with the columns that `hop_differences` reads and `block` in front, by topology.
        """
        noise, rng = self.setting.noise, self._rng
        names = np.empty(self.setting.journeys, dtype=object)
        for name, rows in self._rows.items():
            names[rows] = name
        frames: dict[str, list[pl.DataFrame]] = {topology: [] for topology in parts}
        for block in range(1, self.setting.blocks + 1):
            shared = math.exp(rng.normal(0, noise.block))
            for topology, factors in parts.items():
                drawn = np.exp(self._tape_logs) * (shared * noise.draw_trial(rng)) * noise.draw(names.size, rng)
                traced = np.flatnonzero(rng.random(names.size) < sample)
                # A part's share of a journey varies from journey to journey, and all parts together are the whole.
                shares = rng.dirichlet(np.full(len(factors), _EVEN), traced.size) * list(factors.values())
                frames[topology].append(
                    pl.DataFrame(
                        {
                            "block": np.full(traced.size, block),
                            "trace_id": [f"{block}-{at}" for at in traced],
                            "journey": names[traced].astype(str),
                            **{part: drawn[traced] * shares[:, at] for at, part in enumerate(factors)},
                        }
                    )
                )
        return {
            topology: pl.concat(blocks)
            .unpivot(index=["block", "trace_id", "journey"], variable_name="part", value_name="ms")
            .with_columns((pl.col("ms") * NS_PER_MS).cast(pl.Int64).alias("ns"))
            for topology, blocks in frames.items()
        }

    def counts(self) -> dict[str, float]:
        """Counts how often each journey is on the tape."""
        return {name: float(rows.sum()) for name, rows in self._rows.items() if rows.any()}

    def truth(self, factor: float) -> dict[str, dict[str, float]]:
        """Computes what an experiment with infinitely many blocks would find: ms by journey, then by metric."""
        logs = self._tape_logs + math.log(factor)
        journeys = {name: logs[rows] for name, rows in self._rows.items() if rows.any()}
        return {name: _figures(values, self.setting.noise) for name, values in {ALL: logs, **journeys}.items()}

    def break_even(self, left: Distant, right: Distant, journey: str) -> float:
        """Computes the round-trip time, ms, at which both topologies have the same p50 over infinitely many blocks."""

        def off(rtt_ms: float) -> float:
            return self._median(left, journey, rtt_ms) - self._median(right, journey, rtt_ms)

        return float(optimize.brentq(off, 0.0, 1000.0, xtol=1e-6))

    def _median(self, topology: Distant, journey: str, rtt_ms: float) -> float:
        names = self._rows if journey == ALL else [journey]
        kinds = [np.unique(self._tape_logs[self._rows[name]], return_counts=True) for name in names]
        logs = np.concatenate([centres for centres, _ in kinds]) + math.log(topology.factor)
        weights = np.concatenate([counts for _, counts in kinds])
        far = rtt_ms * np.repeat([topology.round_trips[name] for name in names], [len(one) for one, _ in kinds])

        def off(at: float) -> float:
            own = np.log(np.maximum(at - far, 1e-300))
            return float(weights @ self.setting.noise.below(own - logs) / weights.sum()) - 0.5

        return float(optimize.brentq(off, 0.0, float(np.exp(logs.max() + _FAR) + far.max()), xtol=1e-9))


def _figures(logs: Floats, noise: Noise) -> dict[str, float]:
    """Computes mean and percentiles of a mixture distribution, with a component for each value on the tape."""
    centres, counts = np.unique(logs, return_counts=True)
    weights = counts / counts.sum()

    def percentile(share: float) -> float:
        def off(at: float) -> float:
            return float(weights @ noise.below(at - centres)) - share

        return math.exp(optimize.brentq(off, centres[0] - _FAR, centres[-1] + _FAR, xtol=1e-6))

    mean = float(weights @ np.exp(centres)) * noise.mean
    return {MEAN: mean, **{name: percentile(share) for name, share in PERCENTILES.items()}}
