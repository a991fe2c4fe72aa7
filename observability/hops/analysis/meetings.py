"""Which journeys meet: how much longer a journey takes if another journey arrived shortly before it, by kind.

This needs no traces: every journey's row says when it was meant to start. A journey meets a kind if a journey of that
kind arrived before it, within the kind's median duration. Only arrivals decide. Whether a journey was really under way
depends on how long it took, and a pause lengthens both that journey and later arrivals.

The mean and percentiles of the journeys that met a kind are compared with those of similar journeys that did not.
Weights give the second group the first group's mix of kinds, blocks and other meetings, so that the effects of a burst
are separated. The weights also give the second group the first group's pace elsewhere: how long the same arrivals took
in the other topologies, where they met other work. This is calibration (Deville and Särndal, *Journal of the American
Statistical Association* 87, 1992).

Chance enters twice: in which journeys meet, the same in all blocks because they replay one tape; and in what differs
between blocks. So the intervals come from a two-way jackknife, over stretches of the tape and over blocks. Its two
variances are added, minus the variance of leaving out one stretch of each block in turn, which both contain (Cameron,
Gelbach and Miller, *J. Business & Economic Statistics* 29, 2011).

Traces say at which component calls wait. A call's row says when the callee began, and for how long before that its
event loop was busy with other calls. The rows of all journeys say which journeys had arrived shortly before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from hops.run.documents.estimate import Estimate
from hops.run.documents.meeting import Meeting, Queue
from hops.statistics.intervals import PERCENTILES, Floats, t_quantile
from hops.units import ALL, NS_PER_MS

STRETCHES = 20
"""Number of stretches into which the tape is cut for the intervals."""
MIN_MEETINGS = 40
"""With fewer meetings, or fewer journeys without a meeting, nothing is reported."""
MIN_STRETCHES = 5
"""With fewer effective stretches (`_even`), the meetings come from too few arrivals to report anything."""
MIN_FOR_P99 = 200
"""With fewer journeys on either side, p99 is not reported: fewer than two are expected above it."""
MIN_BEYOND = 10
"""With fewer journeys above p99, the share of them that met a kind is not reported."""
METRICS = ("p50", "p99")
"""Percentiles that are reported for each meeting, in addition to the mean."""
_CONTROL = "in other topologies"
_RIDGE = 1e-9
"""Share of the mean square that keeps the equations solvable if no journey has a property."""

_Groups = npt.NDArray[np.int64]


def meetings_of(journeys: Mapping[str, pl.DataFrame]) -> list[Meeting]:
    """Finds how much longer journeys take if they meet each kind, for all journeys and for each kind.

    Returns a row for each pair with enough meetings, sorted by its share of the topology's mean, the largest first.
    """
    arrived = {name: arrivals_of(rows) for name, rows in journeys.items()}
    meetings = []
    for name, rows in arrived.items():
        controlled = _with_control(rows, [other for label, other in arrived.items() if label != name])
        kinds = sorted(controlled["journey"].unique())
        meetings += _costs(controlled, name, ALL, kinds)
        for kind in kinds:
            meetings += _costs(controlled.filter(pl.col("journey") == kind), name, kind, kinds)
    return sorted(meetings, key=lambda row: (row["topology"], row["journey"] != ALL, -abs(row["mean_ms"])))


def arrivals_of(rows: pl.DataFrame) -> pl.DataFrame:
    """Selects the journeys that ended ok, and marks which kinds each met and which were really under way.

    A journey met a kind if a journey of that kind arrived before it, within the kind's median duration. `met` and
    `during` name the columns.
    """
    usual_ns = _usual_ns(rows)
    kinds = sorted(usual_ns)
    trials = []
    for trial in rows.sort("intended_ns").partition_by("block"):
        arrived = trial["intended_ns"].to_numpy()
        columns = {}
        for kind in kinds:
            of_kind = trial.filter(pl.col("journey") == kind)
            starts, ended = np.sort(of_kind["intended_ns"].to_numpy()), np.sort(of_kind["ended_ns"].to_numpy())
            for name, ends in ((met(kind), starts + usual_ns[kind]), (during(kind), ended)):
                under_way = np.searchsorted(starts, arrived, "left") - np.searchsorted(ends, arrived, "right")
                columns[name] = under_way > 0
        trials.append(trial.with_columns(**{name: pl.Series(values) for name, values in columns.items()}))
    ok = pl.concat(trials).filter(pl.col("outcome") == "ok")
    of_kinds = [name(kind) for name in (met, during) for kind in kinds]
    return ok.select("block", "seq", "journey", *of_kinds, ms=pl.col("latency_ns") / NS_PER_MS)


def _usual_ns(rows: pl.DataFrame) -> dict[str, int]:
    """Computes the median duration of each kind over all blocks."""
    usual = rows.group_by("journey").agg((pl.col("ended_ns") - pl.col("intended_ns")).median())
    return {kind: int(ns) for kind, ns in usual.iter_rows()}


def met(kind: str) -> str:
    """Returns the name of the column of `arrivals_of` that says whether a journey met this kind."""
    return f"met {kind}"


def during(kind: str) -> str:
    """Returns the name of the column of `arrivals_of` that says whether a journey of this kind was really under way."""
    return f"during {kind}"


def _with_control(rows: pl.DataFrame, others: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Adds a control: the time of the same arrivals in other topologies, relative to the mean of similar arrivals."""
    columns = []
    for other in others:
        alike = [name for name in other.columns if name == "journey" or name.startswith(met(""))]
        beyond = pl.col("ms") / pl.col("ms").mean().over(alike) - 1
        columns.append(other.select("seq", "journey", beyond.alias(_CONTROL)))
    if not columns:
        return rows.with_columns(pl.lit(0.0).alias(_CONTROL))
    elsewhere = pl.concat(columns).group_by("seq", "journey", maintain_order=True).mean()
    # The same share is more time in a long journey than in a short journey.
    usual = pl.col("ms").mean().over("journey")
    joined = rows.join(elsewhere, on=["seq", "journey"], how="left")
    return joined.with_columns(pl.col(_CONTROL).fill_null(0) * usual)


def _costs(rows: pl.DataFrame, topology: str, journey: str, kinds: Sequence[str]) -> list[Meeting]:
    if rows.height < 2 * MIN_MEETINGS:
        return []
    rows = rows.sort("ms")
    seq, block, ms = (rows[name].to_numpy() for name in ("seq", "block", "ms"))
    stretch = seq * STRETCHES // (seq.max() + 1)
    # In the last way, a group has a different stretch in each block.
    ways = [stretch, block, (stretch + block) % STRETCHES] if np.unique(block).size > 1 else [stretch]
    have_met = {kind: rows[met(kind)].to_numpy() for kind in kinds}
    enough = [kind for kind in kinds if _is_enough(have_met[kind], ways)]
    beyond = ms > np.quantile(ms, PERCENTILES["p99"])
    alike = [*_dummies(rows["block"]), *_dummies(rows["journey"])[1:], rows[_CONTROL].to_numpy()]
    meetings = []
    for kind in enough:
        design = np.column_stack([*alike, *(have_met[other] for other in enough if other != kind)])
        more, *percentiles = _compare(ms, design, have_met[kind], ways)
        count = int(have_met[kind].sum())
        known = METRICS if MIN_FOR_P99 <= count <= rows.height - MIN_FOR_P99 else METRICS[:1]
        meetings.append(
            Meeting(
                topology=topology,
                journey=journey,
                met=kind,
                meetings=count,
                share=count / rows.height,
                more=more,
                mean_ms=more["value"] * count / rows.height,
                percentiles=dict(zip(known, percentiles, strict=False)),
                beyond_p99=float(have_met[kind][beyond].mean()) if beyond.sum() >= MIN_BEYOND else None,
            )
        )
    return meetings


def _is_enough(met: npt.NDArray[np.bool_], ways: Sequence[_Groups]) -> bool:
    """Whether both sides are large enough, and neither becomes empty when a group is left out."""
    return all(
        side.sum() >= MIN_MEETINGS
        and _even(ways[0][side]) >= MIN_STRETCHES
        and all(np.unique(groups[side]).size > 1 for groups in ways)
        for side in (met, ~met)
    )


def _even(groups: _Groups) -> float:
    """Computes the effective number of groups, as if all were equally full (Kish, *Survey Sampling*, 1965)."""
    sizes = np.bincount(groups)
    return float(groups.size**2 / (sizes**2).sum())


def _dummies(column: pl.Series) -> list[Floats]:
    return [(column == value).cast(pl.Float64).to_numpy() for value in sorted(column.unique())]


def _compare(ms: Floats, design: Floats, met: npt.NDArray[np.bool_], ways: Sequence[_Groups]) -> list[Estimate]:
    """Computes how far mean and percentiles of journeys that met a kind are above those of journeys alike by
    `design`.
    """
    value = _without(ms, design, met, ways[0], [-1])[0]
    variances, freedoms = [], []
    for groups in ways:
        numbers = np.unique(groups)
        off = _without(ms, design, met, groups, numbers) - value
        variances.append((numbers.size - 1) / numbers.size * (off**2).sum(axis=0))
        freedoms.append(max(_even(groups[met]) - 1, 1.0))
    by_stretch, *others = variances
    variance = by_stretch
    if others:
        by_block, by_both = others
        variance = np.maximum(np.maximum(by_stretch, by_block), by_stretch + by_block - by_both)
    spread = np.sum([one**2 / freedom for one, freedom in zip(variances, freedoms, strict=True)], axis=0)
    # Satterthwaite's degrees of freedom; values without scatter get an interval of length 0.
    freedom = np.divide(variance**2, spread, out=np.ones_like(spread), where=spread > 0)
    reaches = np.sqrt(variance) * [t_quantile(one) for one in freedom]
    return [
        Estimate(value=float(at), ci95=[float(at - reach), float(at + reach)])
        for at, reach in zip(value, reaches, strict=True)
    ]


def _without(
    ms: Floats, design: Floats, met: npt.NDArray[np.bool_], groups: _Groups, numbers: Sequence[int] | _Groups
) -> Floats:
    """Computes the differences of mean and percentiles, leaving out each group in turn: a row for each group."""
    like, other = design[met], design[~met]
    kept, rest = (groups[side] != np.array(numbers)[:, None] for side in (met, ~met))
    target = kept.astype(np.float64) @ like / kept.sum(axis=1, keepdims=True)
    square = other.T @ other
    parts = (other[groups[~met] == number] for number in numbers)
    squares = np.stack([square - part.T @ part for part in parts])
    squares += _RIDGE * np.trace(square) * np.eye(square.shape[0])
    slopes = np.linalg.solve(squares, target[:, :, None])[:, :, 0]
    weights = np.maximum(slopes @ other.T, 0) * rest
    return _figures(ms[met], kept.astype(np.float64)) - _figures(ms[~met], weights)


def _figures(ms: Floats, weights: Floats) -> Floats:
    """Computes mean and percentiles of sorted latencies, a row for each row of weights."""
    totals = weights.sum(axis=1)
    below = np.cumsum(weights, axis=1) - weights / 2
    shares = np.array([PERCENTILES[name] for name in METRICS])
    percentiles = [np.interp(shares * total, one, ms) for total, one in zip(totals, below, strict=True)]
    return np.column_stack([weights @ ms / totals, percentiles])


def queues_of(journeys: Mapping[str, pl.DataFrame], calls: pl.DataFrame) -> list[Queue]:
    """Finds which kinds were usually under way, for their median duration, while calls waited for components.

    Returns, for each topology and component with waiting calls, a row for all kinds and a row for each kind, the
    longest waits first.
    """
    waits = calls.filter(pl.col("queued_ns") > 0)
    queues = []
    for name, rows in journeys.items():
        queues += _queues(name, rows, waits.filter(pl.col("topology") == name))
    return queues


def _queues(topology: str, journeys: pl.DataFrame, waits: pl.DataFrame) -> list[Queue]:
    ok = journeys.filter(pl.col("outcome") == "ok")
    traced = ok.filter(pl.col("sampled"))
    waits = waits.filter(pl.col("trace_id").is_in(traced["trace_id"].implode()))
    if not waits.height:
        return []
    slow = traced.filter(pl.col("latency_ns") > ok["latency_ns"].quantile(PERCENTILES["p99"], "linear"))
    usual_ns = _usual_ns(journeys)
    kinds = sorted(usual_ns)
    blocks, under_way_ns, wall_ns = [], dict.fromkeys(kinds, 0.0), 0.0
    for (block,), trial in journeys.partition_by("block", as_dict=True).items():
        of_block = waits.filter(pl.col("block") == block)
        first, last = int(trial["intended_ns"].to_numpy().min()), int(trial["ended_ns"].to_numpy().max())
        ended = (of_block["began_ns"] - first).to_numpy().astype(np.float64)
        began = ended - of_block["queued_ns"].to_numpy()
        columns = {ALL: ended - began}
        for kind in kinds:
            starts = (trial.filter(pl.col("journey") == kind)["intended_ns"] - first).to_numpy()
            at, one, two = _under_way(starts, np.minimum(starts + usual_ns[kind], last - first))
            own = (of_block["journey"] == kind).to_numpy()
            for_one, for_two = (np.interp(ended, at, ns) - np.interp(began, at, ns) for ns in (one, two))
            columns[kind] = np.where(own, for_two, for_one)
            under_way_ns[kind] += one[-1]
        series = {name: pl.Series(values, dtype=pl.Float64) for name, values in columns.items()}
        blocks.append(of_block.select("trace_id", "callee").with_columns(**series))
        wall_ns += last - first
    rows = pl.concat(blocks)
    beyond = rows.filter(pl.col("trace_id").is_in(slow["trace_id"].implode()))
    queues = []
    for component in sorted(rows["callee"].unique()):
        for kind in (ALL, *kinds):
            mean, most = (
                float(frame.filter(pl.col("callee") == component)[kind].sum()) / max(count, 1) / NS_PER_MS
                for frame, count in ((rows, traced.height), (beyond, slow.height))
            )
            queues.append(
                Queue(
                    topology=topology,
                    component=component,
                    met=kind,
                    share=1.0 if kind == ALL else float(under_way_ns[kind] / wall_ns),
                    mean_ms=float(mean),
                    beyond_p99=slow.height,
                    beyond_p99_ms=float(most) if slow.height >= MIN_BEYOND else None,
                )
            )
    waited = {row["component"]: row["mean_ms"] for row in queues if row["met"] == ALL}
    return sorted(queues, key=lambda row: (-waited[row["component"]], row["met"] != ALL, -row["mean_ms"]))


def _under_way(starts: Floats, ends: Floats) -> tuple[Floats, Floats, Floats]:
    """Returns moments, and for how long before each of them at least one journey was under way, and at least two."""
    if not starts.size:
        return np.zeros(1), np.zeros(1), np.zeros(1)
    at = np.concatenate([starts, ends]).astype(np.float64)
    order = np.argsort(at, kind="stable")
    at = at[order]
    depth = np.cumsum(np.where(order < starts.size, 1, -1))[:-1]
    one, two = (np.concatenate([[0.0], np.cumsum(np.diff(at) * (depth >= least))]) for least in (1, 2))
    return at, one, two
