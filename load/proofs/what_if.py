"""Does `what-if` foresee what a delay does, before there is one?

From the traces of trials without any delay it predicts p50 and p99 of each journey with one; then the delay is
injected, and the journeys are measured. A prediction holds if the measured figure lies in its interval, which is that
of what as many traces as were measured would show; the proof holds if at least `LEAST` of them do. A figure for whose
interval there are too few traces is left out. Where no interval leaves out what was measured without the delay, they
are too wide to prove anything: the machine was not quiet, and the proof does not hold.

What is predicted with is the mean of the pauses that were made, by the component's own clock: a pause is never shorter
than asked, and longer where the component has to wait for a processor when it wakes up.

A machine is not as quick in one trial as in the next, and no prediction can know how quick it will be. The journeys
that no pause touches tell: by as many times as they took longer in the trials with a delay than in those without any,
all but what the delay adds is taken to have taken longer there, and the measured figure is corrected by that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import Plan
from experiment.plan.profiles import Profile
from experiment.progress import short_path
from experiment.trial.outcome import TRACES
from hops.analysis.of_traces.what_if import METRICS, predict
from hops.budget.bands import totals
from hops.budget.retiming import Change, Scenario
from hops.elements.element import Element, Text
from hops.elements.table import Cell, Column, table_of, words
from hops.run.files import HOPS_FILE, JOURNEYS_FILE
from hops.statistics.intervals import PERCENTILES, Interval
from hops.traces import otlp
from hops.traces.tree import Tree, grow
from hops.units import NS_PER_MS
from mesh.description.topology import Topology
from proofs.delays import BASELINE, JOURNEYS, WORKLOAD, Injected, arms_of

NAME = "prove-what-if"
PROFILE = Profile("proof", warmup_s=2, duration_s=55, rate=20.0, parity_samples=1)
LEAST = 0.9
"""Share of the figures that must lie in the intervals of their predictions."""


@dataclass(frozen=True, slots=True)
class Foretold:
    """One figure with a delay, as predicted without it and as measured with it; times in ms.

    Attributes:
        component: The component that was slowed.
        delay_ms: Delay of each of its requests.
        paused_ms: Mean of the pauses, by the component's clock.
        journey: The journey.
        metric: The figure.
        traces: Number of traces that it was predicted from, and that it was measured in.
        before_ms: Measured without the delay.
        predicted_ms: Predicted.
        ci95: Interval of the prediction.
        measured_ms: Measured with the delay.
        untouched: What journeys without such a pause took in the same trials, in times of what they took in those
            without a delay: the geometric mean of the ratios of their p50; None if all journeys have pauses.
    """

    component: str
    delay_ms: float
    paused_ms: float
    journey: str
    metric: str
    traces: tuple[int, int]
    before_ms: float
    predicted_ms: float
    ci95: Interval
    measured_ms: float
    untouched: float | None

    @property
    def corrected_ms(self) -> float:
        """The measured figure, had the machine been as quick as in the trials without a delay."""
        added_ms = self.predicted_ms - self.before_ms
        return added_ms + (self.measured_ms - added_ms) / (self.untouched or 1.0)

    @property
    def holds(self) -> bool:
        """Whether the corrected figure lies in the interval of the prediction."""
        low, high = self.ci95
        return low is not None and high is not None and low <= self.corrected_ms <= high

    @property
    def tells(self) -> bool:
        """Whether the interval leaves out what was measured without the delay."""
        low, high = self.ci95
        return low is not None and high is not None and not low <= self.before_ms <= high


def outcome(rows: Sequence[Foretold]) -> dict[str, Any]:
    """How the proof ended, for programs."""
    inside, telling = (sum(one) / len(rows) for one in zip(*((row.holds, row.tells) for row in rows), strict=True))
    documents = [
        {**asdict(row), "corrected_ms": row.corrected_ms, "holds": row.holds, "tells": row.tells} for row in rows
    ]
    return {"holds": inside >= LEAST and telling > 0, "inside": inside, "telling": telling, "rows": documents}


def proof_plan(delays: Sequence[Injected], topology: Topology, *, blocks: int, seed: int) -> Plan:
    """The experiment: one arm for each delay, and some without any that keep their traces, in every block."""
    return Plan("proof", NAME, arms_of(delays, topology, keep_traces=True), blocks, PROFILE, seed, WORKLOAD)


def judge(folder: Path, delays: Sequence[Injected]) -> list[Foretold]:
    """Holds what is predicted of each delay against what was measured.

    Args:
        folder: Folder of the results.
        delays: The delays that were injected; each has its arm.

    Raises:
        HopsError: The files are incomplete.
    """
    done = pl.read_parquet(folder / JOURNEYS_FILE).filter(pl.col("outcome") == "ok")
    hops = pl.read_parquet(folder / HOPS_FILE).join(done.select("trace_id"), on="trace_id", how="semi")
    trees = [*_baseline(folder, {*done["trace_id"]})]
    return [row for delay in delays for row in _judged(trees, hops, delay)]


def _baseline(folder: Path, done: Set[str]) -> Iterator[Tree]:
    """Whole traces of journeys that ended ok, without a delay."""
    for file in sorted(folder.glob(f"trials/*-{BASELINE}*/{TRACES}")):
        for line in file.read_bytes().splitlines():
            tree = grow(otlp.read_line(line, where=str(file)))
            if tree.root is not None and tree.root.span.trace_id in done and tree.quality.complete:
                yield tree


def _judged(trees: Sequence[Tree], hops: pl.DataFrame, delay: Injected) -> Iterator[Foretold]:
    journey = JOURNEYS[delay.component]
    of_journey = [tree for tree in trees if tree.root and tree.root.span.attributes.get("shop.journey") == journey]
    slowed = hops.filter(pl.col("topology") == delay.label, pl.col("journey") == journey)
    pauses = slowed.filter(pl.col("part") == delay.part)
    if not of_journey or not pauses["on_path"].sum():
        raise UsageError(f"{delay.label}: there are too few traces of {journey}; measure again")
    paused_ns = int(pauses["injected_ns"].sum()) / int(pauses["on_path"].sum())
    measured = totals(slowed)["total_ns"].to_numpy() / NS_PER_MS
    scenario = Scenario({delay.part: Change(added_ns=round(paused_ns))})
    untouched = _untouched(hops, delay)
    (foreseen,) = predict(of_journey, lambda _: scenario, others={journey: measured.size})
    for metric, figure in zip(METRICS, foreseen.figures, strict=True):
        if figure.reason:
            continue
        yield Foretold(
            component=delay.component,
            delay_ms=delay.delay_ms,
            paused_ms=paused_ns / NS_PER_MS,
            journey=journey,
            metric=metric,
            traces=(foreseen.traces, measured.size),
            before_ms=figure.measured_ms,
            predicted_ms=figure.predicted_ms,
            ci95=figure.predicted_ci95,
            measured_ms=float(np.quantile(measured, PERCENTILES[metric])),
            untouched=untouched,
        )


def _untouched(hops: pl.DataFrame, delay: Injected) -> float | None:
    of_arm = hops.filter(pl.col("topology") == delay.label)
    touched = of_arm.filter(pl.col("part") == delay.part)["journey"].unique()
    without = hops.filter(pl.col("topology").str.starts_with(BASELINE))
    p50s = [_p50s(rows.filter(~pl.col("journey").is_in(touched.implode()))) for rows in (of_arm, without)]
    ratios = p50s[0].join(p50s[1], on="journey").select(pl.col("p50").log() - pl.col("p50_right").log()).to_series()
    return None if ratios.is_empty() else float(np.exp(ratios.to_numpy().mean()))


def _p50s(hops: pl.DataFrame) -> pl.DataFrame:
    return totals(hops).group_by("journey").agg(pl.col("total_ns").median().alias("p50"))


def foretold_view(rows: Sequence[Foretold], path: Path) -> list[Element]:
    """Which predictions held, for people."""
    inside, telling = sum(row.holds for row in rows), sum(row.tells for row in rows)
    verdict = (
        f"{inside} of {len(rows)} figures lie in the interval of their prediction; {telling} of these intervals leave "
        "out what was measured without the delay."
    )
    too_wide = "That proves nothing: the intervals are too wide. Leave the machine idle, or give more blocks."
    table = table_of(
        "what_if",
        "Figures with delays, predicted from traces without",
        rows,
        [
            (Column("delay", "ms", numeric=False), lambda row: words(f"{row.component} {row.delay_ms:g}")),
            (Column("pause", "ms", spare=2), lambda row: Cell(f"{row.paused_ms:.2f}")),
            (Column("journey", numeric=False), lambda row: words(f"{row.journey}, {row.metric}")),
            (Column("without", "ms"), lambda row: Cell(f"{row.before_ms:.2f}")),
            (Column("predicted", "ms"), lambda row: Cell(f"{row.predicted_ms:.2f}")),
            (Column("interval", "ms"), lambda row: Cell("{:.2f} to {:.2f}".format(*row.ci95))),
            (Column("measured", "ms"), lambda row: Cell(f"{row.measured_ms:.2f}")),
            (
                Column("untouched", "times", spare=1),
                lambda row: Cell("" if row.untouched is None else f"{row.untouched:.2f}"),
            ),
            (Column("corrected", "ms"), lambda row: Cell(f"{row.corrected_ms:.2f}")),
            (Column("verdict", numeric=False), lambda row: words("inside" if row.holds else "OUTSIDE")),
        ],
    )
    return [
        table,
        Text(verdict, tone="verdict"),
        Text(
            "Untouched: what journeys that have no pause took in the same trials, in times of what they took in those "
            "without a delay. By as much the machine was slower, and the measured figure is corrected by it."
        ),
        *([] if telling else [Text(too_wide)]),
        Text(f"Results: {short_path(path)}"),
    ]
