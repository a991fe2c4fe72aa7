"""Synthetic experiments in which it is known which journeys wait for which, how long, and what else slows them.

Journeys of four kinds arrive at random. In the topology `busy`, a journey that arrives while a `bulk_lines` journey is
under way waits for an exponentially distributed time; in `calm`, no journey waits. Both topologies replay one tape: the
request makes a journey fast or slow in every trial, and each trial shifts all of its journeys. A third cause, such as
pauses, slows all journeys that are under way, in both topologies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import polars as pl

from hops.statistics.intervals import PERCENTILES, Floats
from hops.statistics.over_blocks import MEAN
from hops.units import ALL, NS_PER_MS

BUSY, CALM = "busy", "calm"
DISTURBER = "bulk_lines"
KINDS = {"browse": 0.4, DISTURBER: 0.06, "login": 0.14, "product": 0.4}
_OWN_MS = {"browse": 10.0, "login": 20.0, "product": 5.0}
_BULK_MS = {BUSY: 170.0, CALM: 20.0}
_ASKED, _SCATTER, _TRIAL = 0.2, 0.25, 0.05
"""Standard deviations of the logarithms: of requests, of journeys, and of trials."""
_DRAWN = 2_000_000
"""Number of journeys from which the truth is computed; its error is far below an experiment's."""
_COMPONENT = "gateway"


@dataclass(frozen=True, slots=True)
class ThirdCause:
    """An event that slows all journeys under way, `per_s` times a second; a pause slows them infinitely."""

    per_s: float
    lasts_ms: float
    slower_by: float

    def ended_ms(self, starts: Floats, work_ms: Floats, rng: np.random.Generator) -> Floats:
        """Computes when journeys that start at these moments, with this much work, end; all in ms."""
        last = float(starts.max()) + 10 * float(work_ms.sum() / work_ms.size + work_ms.max()) + 20 * self.lasts_ms
        begins = np.cumsum(self.lasts_ms + rng.exponential(1e3 / self.per_s, int(last * self.per_s / 1e3) + 1))
        knots = np.concatenate([[0.0], np.column_stack([begins, begins + self.lasts_ms]).ravel(), [2 * last]])
        # Even in a pause a little work is done, so that each amount of work is reached at exactly one moment.
        speeds = np.where(np.arange(knots.size - 1) % 2, max(1 / self.slower_by, 1e-9), 1.0)
        done = np.concatenate([[0.0], np.cumsum(np.diff(knots) * speeds)])
        return np.asarray(np.interp(np.interp(starts, knots, done) + work_ms, done, knots))


PAUSES = ThirdCause(per_s=0.5, lasts_ms=100.0, slower_by=np.inf)
SLOWDOWNS = ThirdCause(per_s=0.1, lasts_ms=2000.0, slower_by=3.0)


@dataclass(frozen=True, slots=True)
class Interference:
    """The kind of experiment to simulate; `waits_ms` is the mean wait behind a `bulk_lines` journey."""

    waits_ms: float
    blocks: int = 8
    journeys: int = 400
    rate: float = 20.0
    third: ThirdCause | None = None

    def experiment(self, rng: np.random.Generator) -> dict[str, pl.DataFrame]:
        """Runs one experiment: rows of `rows.JOURNEYS`, with the columns that the analysis reads and `block` in front.

        The rows are by topology, and also have `queued_ns`: how long each journey waited before its work began.
        """
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
                waits = _under_way(at_ms, at_ms[bulk], ms[bulk]) & ~bulk & (topology == BUSY)
                queued = np.where(waits, self.waits_ms * rng.exponential(1, self.journeys), 0)
                ms += queued
                if self.third is not None:
                    began, ended = self._slow_down(at_ms, ms, rng)
                    queued, ms = queued + began - at_ms, ended - at_ms
                columns = {
                    "seq": range(self.journeys),
                    "journey": kinds,
                    "trace_id": [f"{topology}-{block}-{seq}" for seq in range(self.journeys)],
                    "intended_ns": at_ms * NS_PER_MS,
                    "started_ns": at_ms * NS_PER_MS,
                    "ended_ns": (at_ms + ms) * NS_PER_MS,
                    "queued_ns": queued * NS_PER_MS,
                }
                trial = pl.DataFrame({"block": block, **columns, "latency_ns": ms * NS_PER_MS, "outcome": "ok"})
                trials.append(trial.with_columns(sampled=pl.lit(value=True)))
            rows[topology] = pl.concat(trials)
        return rows

    def _slow_down(self, at_ms: Floats, ms: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Computes when the work of journeys begins and ends with the third cause; in a pause, work begins late."""
        assert self.third is not None
        both = self.third.ended_ms(np.tile(at_ms, 2), np.concatenate([np.full(at_ms.size, 1e-3), ms]), rng)
        return both[: at_ms.size], both[at_ms.size :]

    def truth(self, journey: str) -> dict[str, float]:
        """Computes how much higher mean and percentiles in `busy` are if a `bulk_lines` journey came shortly before.

        Shortly before means within that kind's median duration: some of the journeys that arrive then do not wait, and
        some that arrive later do. Results are in ms.
        """
        return _truths(self.waits_ms, self.rate)[journey]


def calls_of(rows: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Makes the calls of an experiment, one for each journey: rows of `rows.CALLS` with `block` and `topology`."""
    return pl.concat(
        one.select(
            "block",
            pl.lit(topology).alias("topology"),
            "trace_id",
            "journey",
            pl.lit(_COMPONENT).alias("callee"),
            began_ns=pl.col("intended_ns") + pl.col("queued_ns"),
            queued_ns="queued_ns",
        )
        for topology, one in rows.items()
    )


@cache
def _truths(waits_ms: float, rate: float) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(1)
    at_ms = np.cumsum(rng.exponential(1e3 / rate, _DRAWN))
    kinds = rng.choice(len(KINDS), _DRAWN, p=list(KINDS.values()))
    names = list(KINDS)
    bulk = kinds == names.index(DISTURBER)
    typical = np.array([{**_OWN_MS, DISTURBER: _BULK_MS[BUSY]}[name] for name in names])[kinds]
    ms = typical * np.exp(rng.normal(0, np.sqrt(_ASKED**2 + _SCATTER**2 + _TRIAL**2), _DRAWN))
    waits = _under_way(at_ms, at_ms[bulk], ms[bulk]) & ~bulk
    met = _under_way(at_ms, at_ms[bulk], np.full(bulk.sum(), _BULK_MS[BUSY]))
    ms += np.where(waits, waits_ms * rng.exponential(1, _DRAWN), 0)
    of_kinds = {name: kinds == at for at, name in enumerate(names)} | {ALL: np.ones(_DRAWN, dtype=bool)}
    truths = {}
    for name, of_kind in of_kinds.items():
        usual, more = (_figures(ms[of_kind & side]) for side in (~met, met))
        truths[name] = {metric: more[metric] - usual[metric] for metric in usual}
    return truths


def _under_way(at_ms: Floats, starts: Floats, lasting_ms: Floats) -> npt.NDArray[np.bool_]:
    """Computes at which of the moments a journey with one of these starts and durations is under way."""
    ends = np.sort(starts + lasting_ms)
    return np.searchsorted(starts, at_ms, "left") > np.searchsorted(ends, at_ms, "right")


def _figures(ms: Floats) -> dict[str, float]:
    return {MEAN: float(ms.mean()), **{name: float(np.quantile(ms, PERCENTILES[name])) for name in ("p50", "p99")}}
