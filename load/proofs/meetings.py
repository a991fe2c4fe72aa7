"""Do the intervals of what meetings cost hold the truth? On experiments whose interference is known, or absent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import TypedDict

import numpy as np

from hops.analysis.meetings import METRICS, meetings_of
from hops.elements.element import Element, Text
from hops.elements.table import Column, Table, words
from hops.run.documents.meeting import Meeting
from hops.statistics.correction import SIGNIFICANCE
from hops.statistics.over_blocks import MEAN
from proofs.cells import show_rate
from proofs.experiments import COVERAGE, Progress, Rate, over_experiments, rate
from synthetic.meetings import BUSY, DISTURBER, Interference

SETTINGS = tuple(
    Interference(waits_ms, blocks, journeys)
    for waits_ms in (0.0, 10.0, 30.0, 100.0)
    for blocks, journeys in ((4, 1200), (8, 400), (12, 400))
)
"""The experiments: how long others wait, and how much was measured."""


class OfMetric(TypedDict):
    """One metric over all experiments.

    `coverage` is of the intervals of what it costs to meet the disturber; `alarms` are the intervals that leave out 0
    where meeting somebody costs nothing.
    """

    metric: str
    coverage: Rate
    alarms: Rate


class MeetingsProof(TypedDict):
    """All metrics; it holds if coverage is not below `COVERAGE`, and false alarms are not significantly above 5 %.

    `by` has the metrics by how long others waited, ms.
    """

    holds: bool
    experiments: int
    seed: int
    metrics: list[OfMetric]
    by: dict[str, list[OfMetric]]


def prove_meetings(experiments: int, seed: int, progress: Progress = lambda _: None) -> MeetingsProof:
    """Looks for who waits behind whom where that is known.

    Args:
        experiments: How many to run; the settings take turns.
        seed: Seed; the same one gives the same result.
        progress: Called with the number of experiments that are done.
    """
    counts = sum(over_experiments(one_experiment, experiments, seed, progress), Counter[tuple[str, ...]]())
    by = {f"{ms:g} ms": _metrics(counts, f"{ms:g}") for ms in sorted({one.waits_ms for one in SETTINGS})}
    metrics = _metrics(counts, "")
    holds = all(row["coverage"]["rate"] >= COVERAGE[0] and row["alarms"]["ci95"][0] <= SIGNIFICANCE for row in metrics)
    return MeetingsProof(holds=holds, experiments=experiments, seed=seed, metrics=metrics, by=by)


def one_experiment(seed: np.random.SeedSequence) -> Counter[tuple[str, ...]]:
    """Of one experiment and each metric: intervals with and without a wait, and how many were right."""
    rng = np.random.default_rng(seed)
    setting = SETTINGS[rng.integers(len(SETTINGS))]
    counts: Counter[tuple[str, ...]] = Counter()
    for row in meetings_of(setting.experiment(rng)):
        pair = (row["topology"], row["met"])
        waits = setting.waits_ms > 0 and pair == (BUSY, DISTURBER) and row["journey"] != DISTURBER
        for metric, (low, high) in _intervals(row):
            truth = _truth(setting, row["journey"])[metric] if waits else 0.0
            what = "covered" if waits else "alarm"
            for label in ("", f"{setting.waits_ms:g}"):
                counts[label, metric, what, "of"] += 1
                counts[label, metric, what, "count"] += (low <= truth <= high) == waits
    return counts


@cache
def _truth(setting: Interference, journey: str) -> dict[str, float]:
    return setting.truth(journey)


def _intervals(row: Meeting) -> Iterator[tuple[str, tuple[float, float]]]:
    for metric, one in {MEAN: row["more"], **row["percentiles"]}.items():
        low, high = one["ci95"]
        assert low is not None
        assert high is not None
        yield metric, (low, high)


def _metrics(counts: Counter[tuple[str, ...]], label: str) -> list[OfMetric]:
    def of(metric: str, what: str) -> Rate:
        return rate(counts[label, metric, what, "count"], counts[label, metric, what, "of"])

    return [
        OfMetric(metric=metric, coverage=of(metric, "covered"), alarms=of(metric, "alarm"))
        for metric in (MEAN, *METRICS)
    ]


def meetings_view(proof: MeetingsProof) -> list[Element]:
    """How often intervals of what meetings cost were right, for people."""
    columns = [Column("others wait", numeric=False), Column("metric", numeric=False)]
    columns += [Column(name, "%", interval=True) for name in ("coverage", "false alarms")]
    rows = [
        [words(label), words(row["metric"]), show_rate(row["coverage"]), show_rate(row["alarms"])]
        for label, metrics in {"any time": proof["metrics"], **proof["by"]}.items()
        for row in metrics
    ]
    title = f"Intervals of what meetings cost, in {proof['experiments']:,} experiments, with 95 % intervals"
    return [
        Table("meetings", title, columns, rows, heads=2),
        Text(
            f"Intervals of every metric contain the true wait in {100 * COVERAGE[0]:g} % of cases or more, and "
            "false alarms are not significantly above 5 %."
            if proof["holds"]
            else f"Intervals of a metric contain the true wait in less than {100 * COVERAGE[0]:g} % of cases, or false "
            "alarms are significantly above 5 %.",
            tone="verdict",
        ),
    ]
