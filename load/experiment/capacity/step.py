"""One step of a sweep or a stress test: a trial on a system that runs already, and what only a step has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from experiment.plan.closed_loop import ClosedLoop
from experiment.trial.outcome import Trial
from hops.analysis.latencies import latencies_of
from hops.analysis.topology import latency_figures
from hops.kinds.capacity.document import PEAK_BEGINS, PEAK_PARTS, STAIRS, Phase, Step
from hops.run.documents.trial import TrialRecord
from hops.run.rows import FAILURES
from hops.units import ALL, NS_PER_MS

NS_PER_S = 1e9
WELL = 0.9
"""All is well in a second if so many of the journeys that arrived in it ended ok and within the objective."""
MESSAGES = 3
"""Most frequent errors of each class that a step keeps in words."""


@dataclass(frozen=True, slots=True)
class StepPlan:
    """What one step shall send.

    Attributes:
        phase: What the step is for.
        duration_s: Seconds of load.
        rate: Journeys a second on the tape, in the mean.
        closed: The closed loop that takes the journeys; None if they go at the tape's times.
        connections: Connections of all clients together; 0 for as many as the system's switches say.
        factor: Height of the peak in an overload, in units of the rate; 0 for a steady rate.
    """

    phase: Phase
    duration_s: float
    rate: float
    closed: ClosedLoop | None = None
    connections: int = 0
    factor: float = 0.0

    @property
    def steps(self) -> tuple[float, ...]:
        """The rate in each equal part of an overload, in units of the rate; empty for a steady rate."""
        return tuple(share or self.factor for share in STAIRS) if self.factor else ()

    @property
    def part_s(self) -> float:
        """Seconds of each part."""
        return self.duration_s / len(STAIRS)

    @property
    def name(self) -> str:
        """Name of the step's folder, after its number."""
        if self.closed is not None:
            return f"{self.closed.vus}-users"
        return f"{self.factor:g}-times" if self.factor else f"{self.phase}-{self.rate:g}"


def step_of(plan: StepPlan, trial: Trial, record: TrialRecord, broken: list[str], objective_ms: float) -> Step:
    """Adds to a trial's record what only a step has; it is not judged yet.

    Args:
        plan: What was sent.
        trial: What the step left.
        record: The record of that.
        broken: The promises about the shop's data that do not hold.
        objective_ms: How long a journey may take when all is well, ms; counts in an overload only.
    """
    journeys, duration_s, rate = trial.journeys, plan.duration_s, plan.rate
    if plan.factor:
        journeys, duration_s, rate = in_peak(journeys, plan), PEAK_PARTS * plan.part_s, plan.factor * plan.rate
    labelled = journeys.with_columns(pl.lit(record["block"], pl.Int32).alias("block"))
    figures = latency_figures(list(latencies_of(labelled).cells[ALL].values()), seed=0)
    return Step(
        **record,
        phase=plan.phase,
        rate=rate if plan.closed is None else None,
        users=None if plan.closed is None else plan.closed.vus,
        duration_s=plan.duration_s,
        throughput_per_s=_ended_in_time(journeys, duration_s) / duration_s,
        latency_ms=figures["latency_ms"],
        latency_ci95=figures["latency_ci95"],
        errors={name: journeys.filter(pl.col("outcome") == name).height for name in FAILURES},
        messages=_messages(journeys),
        under_way_most=most_under_way(journeys["started_ns"].to_numpy(), journeys["ended_ns"].to_numpy()),
        broken=broken,
        recovery_s=recovery_s(trial.journeys, plan, objective_ms) if plan.factor else None,
        holds=None,
        reasons=[],
    )


def in_peak(journeys: pl.DataFrame, plan: StepPlan) -> pl.DataFrame:
    """The journeys that arrived in the peak of an overload."""
    begins, ends = PEAK_BEGINS * plan.part_s, (PEAK_BEGINS + PEAK_PARTS) * plan.part_s
    return journeys.filter(_arrived_s().is_between(begins, ends, closed="left"))


def recovery_s(journeys: pl.DataFrame, plan: StepPlan, objective_ms: float) -> float | None:
    """How long after the peak of an overload all was well again.

    Args:
        journeys: The rows of all journeys.
        plan: The overload.
        objective_ms: How long a journey may take when all is well, ms.

    Returns:
        Whole seconds; None if it was not in the load's last one.
    """
    since = (_arrived_s() - (PEAK_BEGINS + PEAK_PARTS) * plan.part_s).floor().cast(pl.Int64)
    well = (pl.col("outcome") == "ok") & (pl.col("latency_ns") <= objective_ms * NS_PER_MS)
    seconds = (
        journeys.with_columns(since.alias("second"), well.alias("well"))
        .filter(pl.col("second") >= 0)
        .group_by("second")
        .agg(pl.col("well").mean())
    )
    unwell = seconds.filter(pl.col("well") < WELL)["second"].to_list()
    if not unwell:
        return 0.0
    return None if max(unwell) == max(seconds["second"].to_list()) else max(unwell) + 1.0


def _arrived_s() -> pl.Expr:
    return (pl.col("intended_ns") - pl.col("intended_ns").min()) / NS_PER_S


def most_under_way(started_ns: npt.NDArray[np.int64], ended_ns: npt.NDArray[np.int64]) -> int:
    """The most journeys that were under way at a time.

    Args:
        started_ns: When each began.
        ended_ns: When each ended, in the same order.
    """
    if not started_ns.size:
        return 0
    at = np.concatenate([ended_ns, started_ns])  # of an end and a start at the same time, the end counts first
    change = np.concatenate([np.full(ended_ns.size, -1), np.full(started_ns.size, 1)])
    return int(np.cumsum(change[np.argsort(at, kind="stable")]).max())


def _ended_in_time(journeys: pl.DataFrame, duration_s: float) -> int:
    over = pl.col("started_ns").min() + int(duration_s * NS_PER_S)
    return journeys.filter((pl.col("outcome") == "ok") & (pl.col("ended_ns") <= over)).height


def _messages(journeys: pl.DataFrame) -> dict[str, int]:
    failures = journeys.filter(pl.col("outcome") != "ok").select("outcome", pl.col("error").fill_null(""))
    counts = failures.group_by("outcome", "error").len().sort("len", "error", descending=[True, False])
    shown = counts.group_by("outcome", maintain_order=True).head(MESSAGES).sort("len", descending=True)
    return {f"{row['outcome']}: {row['error']}": row["len"] for row in shown.to_dicts()}
