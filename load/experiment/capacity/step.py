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
from hops.kinds.capacity.document import Phase, Step
from hops.run.documents.trial import TrialRecord
from hops.run.rows import FAILURES
from hops.units import ALL

NS_PER_S = 1e9
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
    """

    phase: Phase
    duration_s: float
    rate: float
    closed: ClosedLoop | None = None
    connections: int = 0

    @property
    def name(self) -> str:
        """Name of the step's folder, after its number."""
        return f"{self.phase}-{self.rate:g}" if self.closed is None else f"{self.closed.vus}-users"


def step_of(plan: StepPlan, trial: Trial, record: TrialRecord, broken: list[str]) -> Step:
    """Adds to a trial's record what only a step has; it is not judged yet.

    Args:
        plan: What was sent.
        trial: What the step left.
        record: The record of that.
        broken: The promises about the shop's data that do not hold.
    """
    journeys = trial.journeys
    labelled = journeys.with_columns(pl.lit(record["block"], pl.Int32).alias("block"))
    figures = latency_figures(list(latencies_of(labelled).cells[ALL].values()), seed=0)
    return Step(
        **record,
        phase=plan.phase,
        rate=plan.rate if plan.closed is None else None,
        users=None if plan.closed is None else plan.closed.vus,
        duration_s=plan.duration_s,
        throughput_per_s=_ended_in_time(journeys, plan.duration_s) / plan.duration_s,
        latency_ms=figures["latency_ms"],
        latency_ci95=figures["latency_ci95"],
        errors={name: trial.generator["outcomes"][name] for name in FAILURES},
        messages=_messages(journeys),
        under_way_most=most_under_way(journeys["started_ns"].to_numpy(), journeys["ended_ns"].to_numpy()),
        broken=broken,
        holds=None,
        reasons=[],
    )


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
