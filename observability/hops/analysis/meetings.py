"""Who waits behind whom: how much longer journeys take that arrive while another one of some kind is under way.

It takes no traces: every journey's row says when it was meant to start and when it ended. A journey's latency is
regressed on which kinds were under way when it arrived, all kinds at once, so that what a burst brings together is told
apart. What a journey is by itself (its kind, its parameters) and what a block was like would be taken for what it met:
kinds are compared within blocks only, and the same arrival in the other topologies, where it met other work, is a
regressor more. All blocks replay one tape, so that chance lies in which arrivals met whom, and not in the blocks: the
intervals are a jackknife that leaves out one stretch of the tape after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from hops.run.documents.estimate import Estimate
from hops.run.documents.meeting import Meeting
from hops.statistics.intervals import Floats, t_quantile
from hops.units import ALL, NS_PER_MS

STRETCHES = 20
"""Into how many stretches the tape is cut for the intervals."""
LEAST_MEETINGS = 40
"""Fewer meetings, or fewer journeys that met nobody, say nothing."""
_CONTROL = "in other topologies"


def meetings_of(journeys: Mapping[str, pl.DataFrame]) -> list[Meeting]:
    """Finds what meeting each kind of journey costs, for all journeys and for each kind.

    Args:
        journeys: Rows of `rows.JOURNEYS` with `block` in front, by topology.

    Returns:
        A row for each pair with enough meetings, those that cost the topology's mean most first.
    """
    arrived = {name: arrivals_of(rows) for name, rows in journeys.items()}
    found = []
    for name, rows in arrived.items():
        controlled = _with_control(rows, [other for label, other in arrived.items() if label != name])
        kinds = sorted(controlled["journey"].unique())
        found += _costs(controlled, name, ALL, kinds)
        for kind in kinds:
            found += _costs(controlled.filter(pl.col("journey") == kind), name, kind, kinds)
    return sorted(found, key=lambda row: (row["topology"], row["journey"] != ALL, -abs(row["mean_ms"])))


def arrivals_of(rows: pl.DataFrame) -> pl.DataFrame:
    """The journeys that ended ok, and for each kind whether one of it was under way when they arrived."""
    kinds = sorted(rows["journey"].unique())
    trials = []
    for trial in rows.sort("intended_ns").partition_by("block"):
        arrived = trial["intended_ns"].to_numpy()
        met = {}
        for kind in kinds:
            of_kind = trial.filter(pl.col("journey") == kind)
            starts, ends = np.sort(of_kind["intended_ns"].to_numpy()), np.sort(of_kind["ended_ns"].to_numpy())
            under_way = np.searchsorted(starts, arrived, "left") - np.searchsorted(ends, arrived, "right")
            met[_met(kind)] = under_way > 0
        trials.append(trial.with_columns(**{name: pl.Series(values) for name, values in met.items()}))
    ok = pl.concat(trials).filter(pl.col("outcome") == "ok")
    return ok.select("block", "seq", "journey", *map(_met, kinds), ms=pl.col("latency_ns") / NS_PER_MS)


def _met(kind: str) -> str:
    return f"met {kind}"


def _with_control(rows: pl.DataFrame, others: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Adds how long the same arrivals took elsewhere, relative to their kind; 0 where there is no other topology."""
    if not others:
        return rows.with_columns(pl.lit(0.0).alias(_CONTROL))
    beyond = pl.col("ms") / pl.col("ms").mean().over("block", "journey") - 1
    elsewhere = pl.concat([other.select("seq", beyond.alias(_CONTROL)) for other in others])
    return rows.join(elsewhere.group_by("seq").mean(), on="seq", how="left").with_columns(pl.col(_CONTROL).fill_null(0))


def _costs(rows: pl.DataFrame, topology: str, journey: str, kinds: Sequence[str]) -> list[Meeting]:
    counts = {kind: int(rows[_met(kind)].sum()) for kind in kinds}
    enough = [kind for kind in kinds if LEAST_MEETINGS <= counts[kind] <= rows.height - LEAST_MEETINGS]
    if not enough:
        return []
    columns = [*map(_met, enough), _CONTROL, "ms"]
    within = rows.select("seq", *(pl.col(name).cast(pl.Float64) for name in columns), "block", "journey").with_columns(
        pl.col(name) - pl.col(name).mean().over("block", "journey") for name in columns
    )
    seq = within["seq"].to_numpy()
    stretch = seq * STRETCHES // (seq.max() + 1)
    *met, control, ms = (within[name].to_numpy() for name in columns)
    design = np.column_stack([*met, control] if np.any(control) else met)
    found = _jackknife(design, ms, stretch)
    return [
        Meeting(
            topology=topology,
            journey=journey,
            met=kind,
            meetings=counts[kind],
            share=counts[kind] / rows.height,
            more=Estimate(value=float(value), ci95=[float(value - reach), float(value + reach)]),
            mean_ms=float(value) * counts[kind] / rows.height,
        )
        for kind, value, reach in zip(enough, *found, strict=False)
    ]


def _jackknife(design: Floats, ms: Floats, stretch: Floats) -> tuple[Floats, Floats]:
    """Coefficients of least squares, and how far their 95 % intervals reach, leaving out one stretch at a time."""
    parts = [stretch == number for number in np.unique(stretch)]
    products = [(design[part].T @ design[part], design[part].T @ ms[part]) for part in parts]
    square, right = (np.sum(sums, axis=0) for sums in zip(*products, strict=True))
    solve = np.linalg.pinv
    value = solve(square) @ right
    without = np.array([solve(square - one) @ (right - other) for one, other in products])
    count = len(parts)
    error = np.sqrt((count - 1) / count * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    return value, error * t_quantile(count - 1)
