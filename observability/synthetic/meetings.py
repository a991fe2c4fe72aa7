"""Synthetic experiments in which it is known who waits behind whom, and for how long.

Journeys of four kinds arrive at random. In the topology `busy`, one that arrives while a `bulk_lines` is under way
waits for it, exponentially distributed; in `calm` nobody waits. Both replay one tape: what is asked for makes a journey
fast or slow in every trial, and each trial shifts all of its journeys.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from hops.statistics.intervals import PERCENTILES, Floats
from hops.statistics.over_blocks import MEAN
from hops.units import ALL, NS_PER_MS

BUSY, CALM = "busy", "calm"
DISTURBER = "bulk_lines"
KINDS = {"browse": 0.4, DISTURBER: 0.06, "login": 0.14, "product": 0.4}
"""Share of each kind of journey."""
_OWN_MS = {"browse": 10.0, "login": 20.0, "product": 5.0}
_BULK_MS = {BUSY: 170.0, CALM: 20.0}
_ASKED, _SCATTER, _TRIAL = 0.2, 0.25, 0.05
"""Standard deviations of the logarithms: of what is asked for, of journeys, and of trials."""
_DRAWN = 400_000
"""Journeys from which the truth is computed; its error is far below that of an experiment."""


@dataclass(frozen=True, slots=True)
class Interference:
    """What kind of experiment is simulated.

    Args:
        waits_ms: How long journeys wait behind a `bulk_lines`, in the mean.
        blocks: How many blocks.
        journeys: How many journeys the tape has.
        rate: How many of them arrive in a second.
    """

    waits_ms: float
    blocks: int = 8
    journeys: int = 400
    rate: float = 20.0

    def experiment(self, rng: np.random.Generator) -> dict[str, pl.DataFrame]:
        """Runs one: rows of `rows.JOURNEYS`, as far as `meetings_of` reads them, with `block` in front, by topology."""
        at_ms = np.cumsum(rng.exponential(1e3 / self.rate, self.journeys))
        kinds = rng.choice(list(KINDS), self.journeys, p=list(KINDS.values()))
        asked = np.exp(rng.normal(0, _ASKED, self.journeys))
        bulk = kinds == DISTURBER
        rows: dict[str, pl.DataFrame] = {}
        for topology, bulk_ms in _BULK_MS.items():
            own_ms = np.array([{**_OWN_MS, DISTURBER: bulk_ms}[kind] for kind in kinds]) * asked
            trials = []
            for block in range(1, self.blocks + 1):
                ms = own_ms * np.exp(rng.normal(0, _TRIAL)) * np.exp(rng.normal(0, _SCATTER, self.journeys))
                under_way = (at_ms[bulk] < at_ms[:, None]) & (at_ms[:, None] < at_ms[bulk] + ms[bulk])
                waits = under_way.any(axis=1) & ~bulk & (topology == BUSY)
                ms += np.where(waits, self.waits_ms * rng.exponential(1, self.journeys), 0)
                columns = {
                    "seq": range(self.journeys),
                    "journey": kinds,
                    "intended_ns": at_ms * NS_PER_MS,
                    "ended_ns": (at_ms + ms) * NS_PER_MS,
                }
                trials.append(pl.DataFrame({"block": block, **columns, "latency_ns": ms * NS_PER_MS, "outcome": "ok"}))
            rows[topology] = pl.concat(trials)
        return rows

    def truth(self, journey: str) -> dict[str, float]:
        """By how much meeting a `bulk_lines` raises mean and percentiles in `busy`, ms, by metric.

        Args:
            journey: Who arrives; `all` for the mix.
        """
        rng = np.random.default_rng(1)
        kinds = rng.choice(list(KINDS), _DRAWN, p=list(KINDS.values())) if journey == ALL else np.full(_DRAWN, journey)
        typical = {**_OWN_MS, DISTURBER: _BULK_MS[BUSY]}
        own_ms = np.select([kinds == kind for kind in typical], list(typical.values()))
        own_ms *= np.exp(rng.normal(0, np.sqrt(_ASKED**2 + _SCATTER**2 + _TRIAL**2), _DRAWN))
        waited_ms = own_ms + np.where(kinds == DISTURBER, 0.0, self.waits_ms * rng.exponential(1, _DRAWN))
        return {
            name: more - usual
            for (name, usual), more in zip(_figures(own_ms).items(), _figures(waited_ms).values(), strict=True)
        }


def _figures(ms: Floats) -> dict[str, float]:
    return {MEAN: float(ms.mean()), **{name: float(np.quantile(ms, PERCENTILES[name])) for name in ("p50", "p99")}}
