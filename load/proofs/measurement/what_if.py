"""Does `what-if` predict the effect of a delay?

From traces of trials without a delay, `what-if` predicts p50 and p99 of each journey with the delay. Then the delay is
injected, and the journeys are measured. A prediction holds if the measured figure is in the interval predicted for
the same number of traces. The proof holds if at least `MIN_SHARE` of the predictions hold. Figures with too few traces
for an interval are left out. If every interval includes the figure without the delay, the intervals are too wide to
prove anything: the machine was not quiet, and the proof does not hold.

The predicted delay is the mean of the actual pauses by the component's own clock. A pause is never shorter than
requested, and longer if the component must wait for a processor when it wakes up.

A machine's speed differs between trials, and no prediction can know it. Journeys without a pause reveal the difference:
the ratio of their latencies in trials with and without a delay. This factor applies to everything but the delay
itself, and corrects the measured figure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import typer

from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import Plan
from experiment.plan.profiles import Profile
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
from mesh.description.options import Json
from mesh.description.topology import Topology
from proofs.measurement.delays import BASELINE, JOURNEYS, WORKLOAD, InjectedDelay, arms_of, delays_of, parse_delays
from proofs.measurement.in_trials import Trials
from proofs.outcome import proves

NAME = "prove-what-if"
PROFILE = Profile("proof", warmup_s=2, duration_s=55, rate=20.0, parity_samples=1)
MIN_SHARE = 0.9
"""Minimum share of the figures that must be in their predicted intervals."""


@dataclass(frozen=True, slots=True)
class PredictedFigure:
    """A figure with a delay, as predicted without it and as measured with it; times in ms.

    Attributes:
        delay_ms: Delay of each request to the component.
        paused_ms: Mean of the pauses, by the component's clock.
        traces: Number of traces for the prediction, and for the measurement.
        before_ms: Measured figure without the delay.
        untouched: Slowness of journeys without a pause, compared with the trials without a delay: the geometric mean
            of the ratios of their p50. None if all journeys have pauses.
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
        """The measured figure at the machine's speed in the trials without a delay."""
        added_ms = self.predicted_ms - self.before_ms
        return added_ms + (self.measured_ms - added_ms) / (self.untouched or 1.0)

    @property
    def holds(self) -> bool:
        """Whether the corrected figure is in the interval of the prediction."""
        low, high = self.ci95
        return low is not None and high is not None and low <= self.corrected_ms <= high

    @property
    def tells(self) -> bool:
        """Whether the interval excludes the figure without the delay."""
        low, high = self.ci95
        return low is not None and high is not None and not low <= self.before_ms <= high


def outcome(rows: Sequence[PredictedFigure]) -> dict[str, Any]:
    inside, telling = (sum(one) / len(rows) for one in zip(*((row.holds, row.tells) for row in rows), strict=True))
    documents = [
        {**asdict(row), "corrected_ms": row.corrected_ms, "holds": row.holds, "tells": row.tells} for row in rows
    ]
    return {"holds": inside >= MIN_SHARE and telling > 0, "inside": inside, "telling": telling, "rows": documents}


def proof_plan(delays: Sequence[InjectedDelay], topology: Topology, blocks: int, seed: int) -> Plan:
    """Makes the plan: every block has an arm for each delay, and arms without a delay that keep their traces."""
    return Plan("proof", NAME, arms_of(delays, topology, keep_traces=True), blocks, PROFILE, seed, WORKLOAD)


def judge(folder: Path, delays: Sequence[InjectedDelay]) -> list[PredictedFigure]:
    """Compares the predictions for each delay with the measurements.

    Raises:
        HopsError: The files are incomplete.
        UsageError: There are too few traces for any interval.
    """
    done = pl.read_parquet(folder / JOURNEYS_FILE).filter(pl.col("outcome") == "ok")
    hops = pl.read_parquet(folder / HOPS_FILE).join(done.select("trace_id"), on="trace_id", how="semi")
    trees = [*_baseline(folder, {*done["trace_id"]})]
    rows = [row for delay in delays for row in _judge_delay(trees, hops, delay)]
    if not rows:
        raise UsageError(f"{folder.name}: no figure has enough traces for an interval; give more blocks")
    return rows


def _baseline(folder: Path, done: Set[str]) -> Iterator[Tree]:
    """Yields complete traces of journeys that ended ok, from the trials without a delay."""
    for file in sorted(folder.glob(f"trials/*-{BASELINE}*/{TRACES}")):
        for line in file.read_bytes().splitlines():
            tree = grow(otlp.read_spans(line, where=str(file)))
            if tree.root is not None and tree.root.span.trace_id in done and tree.quality.complete:
                yield tree


def _judge_delay(trees: Sequence[Tree], hops: pl.DataFrame, delay: InjectedDelay) -> Iterator[PredictedFigure]:
    journey = JOURNEYS[delay.component]
    of_journey = [tree for tree in trees if tree.root and tree.root.span.attributes.get("shop.journey") == journey]
    slowed = hops.filter(pl.col("topology") == delay.label, pl.col("journey") == journey)
    pauses = slowed.filter(pl.col("part") == delay.part)
    if not of_journey or not pauses["on_path"].sum():
        raise UsageError(f"{delay.label}: there are too few traces of {journey}; measure again")
    paused_ns = int(pauses["injected_ns"].sum()) / int(pauses["on_path"].sum())
    measured = totals(slowed)["total_ns"].to_numpy() / NS_PER_MS
    scenario = Scenario({delay.part: Change(added_ns=round(paused_ns))})
    untouched = _untouched_ratio(hops, delay)
    (foreseen,) = predict(of_journey, lambda _: scenario, others={journey: measured.size})
    for metric, figure in zip(METRICS, foreseen.figures, strict=True):
        if figure.reason:
            continue
        yield PredictedFigure(
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


def _untouched_ratio(hops: pl.DataFrame, delay: InjectedDelay) -> float | None:
    of_arm = hops.filter(pl.col("topology") == delay.label)
    touched = of_arm.filter(pl.col("part") == delay.part)["journey"].unique()
    without = hops.filter(pl.col("topology").str.starts_with(BASELINE))
    p50s = [_p50s(rows.filter(~pl.col("journey").is_in(touched.implode()))) for rows in (of_arm, without)]
    ratios = p50s[0].join(p50s[1], on="journey").select(pl.col("p50").log() - pl.col("p50_right").log()).to_series()
    return None if ratios.is_empty() else float(np.exp(ratios.to_numpy().mean()))


def _p50s(hops: pl.DataFrame) -> pl.DataFrame:
    return totals(hops).group_by("journey").agg(pl.col("total_ns").median().alias("p50"))


def predictions_view(rows: Sequence[PredictedFigure]) -> list[Element]:
    inside, telling = sum(row.holds for row in rows), sum(row.tells for row in rows)
    verdict = (
        f"{inside} of {len(rows)} figures are in the interval of their prediction; {telling} of these intervals "
        "exclude the figure without the delay."
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
            "Untouched is the factor by which journeys without a pause took longer in the same trials than in trials "
            "without a delay. The machine was slower by this factor, and the measured figure is corrected by it."
        ),
        *([] if telling else [Text(too_wide)]),
    ]


@proves("prove-what-if")
def prove_what_if(*, hops: str, sizes: str, trials: Trials, given: typer.Context, as_json: Json = False) -> None:
    """Predict the effect of delays, then inject them; fails unless 90 % of the figures are in predicted intervals."""
    trials.prove(
        lambda topology, blocks, seed: proof_plan(parse_delays(hops, sizes), topology, blocks, seed),
        lambda folder, plan: judge(folder, delays_of(plan)),
        outcome,
        lambda rows, _: predictions_view(rows),
        name=NAME,
        given=given,
        as_json=as_json,
    )
