"""How the memory of components, their other resources, the database, and latencies change under load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypedDict, cast

import polars as pl

from hops.analysis.summary import Measured, every_gate
from hops.gates.limits import kind_of
from hops.kinds.soak.trends import trend
from hops.run.documents.gate import Gate, LeftOut
from hops.run.files import RunFiles
from hops.units import NS_PER_MS

KIND: Final = "soak"
DATABASE, JOURNEYS = "database", "journeys"
"""Values of `component` for figures that do not belong to one component."""
MEMORY = "memory_mb"
COUNTS = ("descriptors", "threads", "connections")
MEMORY_MB_PER_HOUR = 1.0
"""Memory growth that does not count as a leak: the lower end of the interval must be above it."""
ONE = 1.0
"""Descriptors, threads and connections are whole numbers: growth below this over the whole load counts as none."""
SLOWER = 0.05
"""Minimum growth of a latency over the whole load, as a share of the latency, to count as growth."""
PERCENTILES = {"p50": 0.5, "p99": 0.99}
MINUTE_S = 60.0


class Change(TypedDict):
    """Change of one figure of a topology per hour.

    `component` is `database` for the size of the database, and `journeys` for latencies. Mean, slope and
    interval are None if there are too few values for a slope. `tells` says whether the load was long enough to tell
    growth from one-time filling.
    """

    topology: str
    component: str
    measure: str
    mean: float | None
    per_hour: float | None
    ci95: list[float] | None
    tells: bool
    grows: bool


class Soak(TypedDict):
    """Load of each topology in minutes and journeys a second, and every change."""

    minutes: float
    rate: float
    changes: list[Change]


def soak_of(summary: Mapping[str, object]) -> Soak:
    """Gives the part of a summary that only a soak test has."""
    return cast("Soak", summary[KIND])


def soak_figures(measured: Measured) -> Mapping[str, Soak]:
    """Computes the figures that only a soak test has."""
    profile = measured.run.manifest["profile"]
    changes = [change for name in measured.journeys for change in changes_of(measured.run, name)]
    return {KIND: Soak(minutes=profile["duration_s"] / MINUTE_S, rate=profile["rate"], changes=changes)}


def gates_of(run: RunFiles, figures: Mapping[str, Any]) -> tuple[list[Gate], list[LeftOut]]:
    """Evaluates the gates of all trials, and three gates that only a soak test has."""
    gates, left_out = every_gate(run, figures)
    changes = soak_of(figures)["changes"]
    memory = [change for change in changes if change["measure"] == MEMORY]
    own = {
        "growing": len(growing(changes)),
        "too_short": sum(not change["tells"] for change in memory),
        "unseen": len(set(run.topologies) - {change["topology"] for change in memory}),
    }
    return [*gates, *(kind_of(name).evaluate(count) for name, count in own.items())], left_out


def growing(changes: list[Change]) -> list[Change]:
    """Lists the changes that are shown to be growth."""
    return [change for change in changes if change["grows"]]


def changes_of(run: RunFiles, topology: str) -> Iterator[Change]:
    """Computes every change of one topology: its components, its database, its journeys."""
    looks = run.observed["looks"].filter(pl.col("topology") == topology)
    for (component,), rows in sorted(looks.group_by("component")):
        rows = rows.sort("at_s")
        for measure in (MEMORY, *COUNTS):
            yield _change(topology, str(component), measure, rows["at_s"], rows[measure])
    sizes = looks.unique("at_s").sort("at_s")
    yield _change(topology, DATABASE, "size_mb", sizes["at_s"], sizes["database_mb"])
    minutes = by_minute(run.journeys.filter(pl.col("topology") == topology))
    for name in PERCENTILES:
        yield _change(topology, JOURNEYS, name, minutes["at_s"], minutes[name])


def by_minute(journeys: pl.DataFrame) -> pl.DataFrame:
    """Computes latencies, ms, of journeys (`rows.JOURNEYS`) that ended ok, by minute; `at_s` is its middle."""
    minute = (pl.col("intended_ns") - pl.col("intended_ns").min()) // int(MINUTE_S * 1e9)
    return (
        journeys.with_columns(((minute + 0.5) * MINUTE_S).alias("at_s"))
        .filter(pl.col("outcome") == "ok")
        .group_by("at_s")
        .agg((pl.col("latency_ns").quantile(at) / NS_PER_MS).alias(name) for name, at in PERCENTILES.items())
        .sort("at_s")
    )


def _change(topology: str, component: str, measure: str, at_s: pl.Series, values: pl.Series) -> Change:
    slope = trend(at_s.to_list(), values.to_list())
    grows = False
    if slope is not None and component != DATABASE:
        by_per_hour = MEMORY_MB_PER_HOUR if measure == MEMORY else 0.0
        least = {MEMORY: 0.0, **dict.fromkeys(COUNTS, ONE)}.get(measure, SLOWER * slope.mean)
        grows = slope.grows(by_per_hour, least)
    return Change(
        topology=topology,
        component=component,
        measure=measure,
        mean=None if slope is None else slope.mean,
        per_hour=None if slope is None else slope.per_hour,
        ci95=None if slope is None else list(slope.ci95),
        tells=slope is not None and slope.tells,
        grows=grows,
    )
