"""What each step of a ladder adds, measured twice: from latencies of untraced journeys, and from traces.

docs/experiments/costs.md defines the figures. All weight each journey by its share of the load, and are linear in their
blocks' deviations (`hops.analysis.hop_differences`). The remainder's interval comes from the deviations of measured
minus attributed, so a block's common effect on both cancels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import polars as pl

from hops.analysis.hop_differences import TracedMeans
from hops.budget.groups import GROUPS, group_of
from hops.budget.parts import EDGE, GENERATOR
from hops.kinds.ladder import arms as ladder
from hops.kinds.ladder.arms import Step, steps_of
from hops.kinds.ladder.document import GroupChange, LadderRow, LadderStep
from hops.run.documents.estimate import Estimate, agreement
from hops.statistics.intervals import Floats
from hops.statistics.over_blocks import NO_INTERVAL, refusal, spread_of
from hops.units import ALL

_LATENCY = "latency"
Frames = Mapping[str, pl.DataFrame]


def ladder_steps(
    journeys: Frames, hops: Frames, load: Mapping[str, int], blocks: Mapping[str, set[int]]
) -> list[LadderStep]:
    """Measures each step twice, for all journeys together and for each kind; arguments as in `Measured`."""
    return [
        LadderStep(adds=step.adds, lower=step.lower, upper=step.upper, rows=_rows(step, journeys, hops, load, blocks))
        for step in steps_of(list(journeys))
    ]


def belongs_to(step: Step) -> Callable[[str], bool]:
    """Returns a test of whether a part belongs to what a step adds.

    A new proxy turns one wire into two, so the replaced wire belongs to the step, like the two new wires.
    """
    kinds = [_OF[thing] for thing in step.things]
    return lambda part: any(belongs(part) for belongs in kinds)


def _of_edge(part: str) -> bool:
    kind, _, name = part.partition(":")
    ends = name.split("→")
    return part == f"proxy:{EDGE}" or (kind == "wire" and (EDGE in ends or ends[0] == GENERATOR))


def _of_sidecars(part: str) -> bool:
    kind, _, name = part.partition(":")
    return kind == "wire" or (kind == "proxy" and name != EDGE)


_OF: Mapping[str, Callable[[str], bool]] = {
    ladder.EDGE: _of_edge,
    ladder.SIDECARS: _of_sidecars,
    ladder.MTLS: _of_sidecars,
    ladder.ISTIO: _of_sidecars,
    ladder.MEMORY: lambda part: part.startswith(("db:", "pool:")),
    ladder.UNTRACED: lambda _: False,
    ladder.SDK: lambda _: False,
    # Metrics cost time wherever a component works or waits; delivering updates takes processor time from all
    # components.
    ladder.METRICS: lambda _: True,
    ladder.UPDATES: lambda _: True,
    ladder.CLUSTER: lambda part: part.startswith("wire:"),
    ladder.CLUSTER_ISTIO: _of_sidecars,
}


@dataclass(frozen=True, slots=True)
class _Change:
    """The change from the lower arm to the upper arm: milliseconds by journey, and their deviations also by block."""

    means: Floats
    deviations: Floats

    @classmethod
    def of(cls, lower: TracedMeans, upper: TracedMeans, columns: Sequence[bool] = (True,)) -> _Change:
        """Adds up some columns of both arms, and subtracts the lower arm's sums from the upper's."""
        chosen = np.array(columns, dtype=bool)
        return cls(
            (upper.means - lower.means)[:, chosen].sum(axis=1),
            (upper.deviations - lower.deviations)[:, :, chosen].sum(axis=2),
        )

    def __add__(self, other: _Change) -> _Change:
        return _Change(self.means + other.means, self.deviations + other.deviations)

    def __sub__(self, other: _Change) -> _Change:
        return _Change(self.means - other.means, self.deviations - other.deviations)

    def times(self, factors: Floats) -> _Change:
        """Multiplies each journey's values by its own factor."""
        return _Change(self.means * factors, self.deviations * factors[:, None])

    def weigh(self, weights: Floats, *, known: bool) -> Estimate:
        """Computes the mean over journeys, with its interval over blocks if that is known."""
        value = float(weights @ self.means)
        ends = spread_of(weights @ self.deviations).around(value) if known else NO_INTERVAL
        return Estimate(value=value, ci95=list(ends))


@dataclass(frozen=True, slots=True)
class _Arm:
    """Mean latencies of one arm's journeys, by whether they were traced, and the mean parts of its traces."""

    every: TracedMeans
    traced: TracedMeans
    untraced: TracedMeans
    parts: TracedMeans


@dataclass(frozen=True, slots=True)
class _Twice:
    """One step, measured twice.

    Args:
        measured: Change in latencies.
        attributed: Change in the parts of traces that belong to the step.
        elsewhere: Changes of the parts that do not belong to the step, by group.
        journeys: Number of journeys behind `measured`, by arm and journey.
        traces: Number of traces behind `attributed`, likewise.
    """

    measured: _Change
    attributed: _Change
    elsewhere: Mapping[str, _Change]
    journeys: Sequence[Floats]
    traces: Sequence[Floats]


def _rows(
    step: Step, journeys: Frames, hops: Frames, load: Mapping[str, int], blocks: Mapping[str, set[int]]
) -> list[LadderRow]:
    shared = sorted(blocks[step.lower] & blocks[step.upper])
    if not shared:
        return []
    names = sorted(load)
    parts = sorted({part for arm in (step.lower, step.upper) for part in hops[arm]["part"].unique()})
    lower, upper = (_arm(journeys[arm], hops[arm], names, shared, parts) for arm in (step.lower, step.upper))
    changes_tracing = {ladder.UNTRACED, ladder.SDK} & {*step.things}
    twice = _of_tracing(lower, upper) if changes_tracing else _of_parts(step, lower, upper, parts)
    counted = np.all([*twice.journeys, *twice.traces], axis=0)
    whole = np.array([load[name] for name in names], dtype=np.float64) * counted
    if not whole.sum():
        return []
    weights = {ALL: whole / whole.sum()}
    weights |= {name: np.eye(len(names))[index] for index, name in enumerate(names) if counted[index]}
    return [_row(name, twice, weight, len(shared)) for name, weight in weights.items()]


def _row(journey: str, twice: _Twice, weights: Floats, blocks: int) -> LadderRow:
    counts = {
        name: [int(arm[weights > 0].sum()) for arm in arms]
        for name, arms in (("journeys", twice.journeys), ("traces", twice.traces))
    }
    reason = refusal(blocks, min(min(arms) for arms in counts.values()), None)
    known = reason is None
    remainder = (twice.measured - twice.attributed).weigh(weights, known=known)
    nothing = twice.measured.times(np.zeros_like(weights))
    return LadderRow(
        journey=journey,
        journeys=counts["journeys"],
        traces=counts["traces"],
        measured=twice.measured.weigh(weights, known=known),
        attributed=twice.attributed.weigh(weights, known=known),
        remainder=remainder,
        elsewhere=reduce(_Change.__add__, twice.elsewhere.values(), nothing).weigh(weights, known=known),
        groups=[
            GroupChange(group=group, **change.weigh(weights, known=known)) for group, change in twice.elsewhere.items()
        ],
        verdict=agreement(remainder["ci95"]),
        reason=reason,
    )


def _of_parts(step: Step, lower: _Arm, upper: _Arm, parts: Sequence[str]) -> _Twice:
    belongs = belongs_to(step)
    groups = [None if belongs(part) else group_of(part) for part in parts]
    return _Twice(
        measured=_Change.of(lower.untraced, upper.untraced),
        attributed=_Change.of(lower.parts, upper.parts, [group is None for group in groups]),
        elsewhere={
            name: _Change.of(lower.parts, upper.parts, [group == name for group in groups])
            for name in GROUPS
            if name in groups
        },
        journeys=(lower.untraced.traces, upper.untraced.traces),
        traces=(lower.parts.traces, upper.parts.traces),
    )


def _of_tracing(lower: _Arm, upper: _Arm) -> _Twice:
    return _Twice(
        measured=_Change.of(lower.every, upper.every),
        attributed=_observe(upper) - _observe(lower),
        elsewhere={},
        journeys=(lower.every.traces, upper.every.traces),
        traces=(upper.untraced.traces, upper.traced.traces),
    )


def _observe(arm: _Arm) -> _Change:
    """Computes what being traced adds to the mean of all journeys of an arm; 0 without traces."""
    return _Change.of(arm.untraced, arm.traced).times(arm.traced.traces / np.maximum(arm.every.traces, 1.0))


def _arm(
    journeys: pl.DataFrame, hops: pl.DataFrame, names: Sequence[str], blocks: Sequence[int], parts: Sequence[str]
) -> _Arm:
    latencies = journeys.filter(pl.col("outcome") == "ok").select(
        "block",
        "journey",
        "sampled",
        pl.lit(_LATENCY).alias("part"),
        pl.col("latency_ns").alias("ns"),
        pl.col("seq").alias("trace_id"),  # journeys without a trace are identified by their place on the tape
    )
    kinds = (latencies, latencies.filter("sampled"), latencies.filter(~pl.col("sampled")))
    every, traced, untraced = (TracedMeans(frame, names, blocks, [_LATENCY]) for frame in kinds)
    return _Arm(every, traced, untraced, TracedMeans(hops, names, blocks, parts))
