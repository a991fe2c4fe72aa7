"""Do intervals of what meetings cost contain the truth? Do other causes look like meetings? With known causes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TypedDict, cast

import numpy as np

from hops.analysis.meetings import METRICS, meetings_of
from hops.conclusions.meetings import meeting_sentences
from hops.elements.element import Element
from hops.elements.table import Table, words
from hops.run.documents.meeting import Meeting
from hops.run.documents.summary import Summary
from hops.statistics.over_blocks import MEAN
from hops.units import ALL, NS_PER_MS
from proofs.outcome import Progress, conclude
from proofs.statistics.cells import name_columns, rate_columns, show_rate
from proofs.statistics.experiments import COVERAGE, Proof, Rate, is_seldom, over_experiments, rate
from synthetic.meetings import BUSY, DISTURBER, PAUSES, SLOWDOWNS, Interference

_SIZES = ((4, 1200), (8, 400), (12, 400))
"""Numbers of blocks and of journeys in a trial."""
SETTINGS = tuple(
    Interference(waits_ms, blocks, journeys) for waits_ms in (0.0, 10.0, 30.0, 100.0) for blocks, journeys in _SIZES
)
"""The experiments: how long others wait, blocks, and journeys."""
CAUSES = {
    "pauses of 100 ms": Interference(0.0, third=PAUSES),
    "slowdowns": Interference(0.0, third=SLOWDOWNS),
    f"waits of 30 ms behind {DISTURBER}": Interference(30.0),
}
"""Causes of slow journeys in experiments whose sentences are counted."""


class OfMetric(TypedDict):
    """A metric over all experiments.

    `coverage` is for intervals of what a meeting with the disturber costs; `alarms` counts intervals that exclude 0
    although a meeting costs nothing.
    """

    metric: str
    coverage: Rate
    alarms: Rate


class OfCause(TypedDict):
    """Number of experiments with a cause in which a sentence says that journeys ran at the same time as slower ones."""

    cause: str
    waits: bool
    sentences: Rate


class MeetingsProof(Proof):
    """All metrics; `by` has them by the others' wait in ms, and `causes` has the sentences."""

    metrics: list[OfMetric]
    by: dict[str, list[OfMetric]]
    causes: list[OfCause]


def prove_meetings(experiments: int, seed: int, progress: Progress = lambda _: None) -> MeetingsProof:
    """Look for the causes of waits in experiments with known causes.

    Fails if intervals contain the true wait in less than 93 % of cases. Fails too if significantly more than 5 %
    exclude 0 without a wait, or if as many experiments with pauses or slowdowns blame a journey.
    """
    counts = sum(over_experiments(one_experiment, experiments, seed, progress), Counter[tuple[str, ...]]())
    by = {f"{ms:g} ms": _metrics(counts, f"{ms:g}") for ms in sorted({one.waits_ms for one in SETTINGS})}
    metrics = _metrics(counts, "")
    causes = [
        OfCause(
            cause=cause, waits=setting.waits_ms > 0, sentences=rate(counts[cause, "sentences"], counts[cause, "of"])
        )
        for cause, setting in CAUSES.items()
    ]
    alarms = [row["alarms"] for row in metrics] + [row["sentences"] for row in causes if not row["waits"]]
    holds = all(row["coverage"]["rate"] >= COVERAGE[0] for row in metrics)
    holds &= is_seldom(alarms)
    return MeetingsProof(holds=holds, experiments=experiments, seed=seed, metrics=metrics, by=by, causes=causes)


def one_experiment(seed: np.random.SeedSequence) -> Counter[tuple[str, ...]]:
    """Counts an experiment's intervals by metric: how many contain the true wait, or exclude 0 if there is no wait.

    Returns:
        These counts, and for the cause, whether a sentence blamed a journey.
    """
    rng = np.random.default_rng(seed)
    setting = SETTINGS[rng.integers(len(SETTINGS))]
    cause = list(CAUSES)[rng.integers(len(CAUSES))]
    counts = Counter[tuple[str, ...]]({(cause, "of"): 1, (cause, "sentences"): says_something(CAUSES[cause], rng)})
    for row in meetings_of(setting.experiment(rng)):
        pair = (row["topology"], row["met"])
        waits = setting.waits_ms > 0 and pair == (BUSY, DISTURBER) and row["journey"] != DISTURBER
        for metric, (low, high) in _intervals(row):
            truth = setting.truth(row["journey"])[metric] if waits else 0.0
            what = "covered" if waits else "alarm"
            for label in ("", f"{setting.waits_ms:g}"):
                counts[label, metric, what, "of"] += 1
                counts[label, metric, what, "count"] += (low <= truth <= high) == waits
    return counts


def says_something(setting: Interference, rng: np.random.Generator) -> bool:
    """Whether the conclusions of an experiment name a kind of journey that ran at the same time as slower ones."""
    blocks, journeys = _SIZES[rng.integers(len(_SIZES))]
    rows = replace(setting, blocks=blocks, journeys=journeys).experiment(rng)
    means = {name: cast("float", one["latency_ns"].mean()) / NS_PER_MS for name, one in rows.items()}
    topologies = {name: {"journeys": {ALL: {"latency_ms": {MEAN: ms}}}} for name, ms in means.items()}
    return bool(meeting_sentences(cast("Summary", {"topologies": topologies, "meetings": meetings_of(rows)})))


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
    columns = [*name_columns("others wait", "metric"), *rate_columns("coverage", "false alarms")]
    rows = [
        [words(label), words(row["metric"]), show_rate(row["coverage"]), show_rate(row["alarms"])]
        for label, metrics in {"any time": proof["metrics"], **proof["by"]}.items()
        for row in metrics
    ]
    sentences = [
        [words(row["cause"]), words("true" if row["waits"] else "false"), show_rate(row["sentences"])]
        for row in proof["causes"]
    ]
    title = f"Intervals of what meetings cost, in {proof['experiments']:,} experiments, with 95 % intervals"
    return [
        Table("meetings", title, columns, rows, heads=2),
        Table(
            "causes",
            "Experiments in which a sentence names a kind of journey that ran at the same time as slower ones",
            [*name_columns("what makes journeys slow", "sentences are"), *rate_columns("experiments")],
            sentences,
        ),
        conclude(
            proof["holds"],
            f"Intervals of every metric contain the true wait in {100 * COVERAGE[0]:g} % of cases or more, and "
            "false alarms and false sentences are not significantly above 5 %.",
            f"Intervals of a metric contain the true wait in less than {100 * COVERAGE[0]:g} % of cases, or false "
            "alarms or sentences are significantly above 5 %.",
        ),
    ]
