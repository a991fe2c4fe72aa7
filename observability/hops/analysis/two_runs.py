"""Two runs held against each other: what changed, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

import polars as pl

from hops.analysis.comparable import Differs, pairs, require_comparable, require_fields, what_differs
from hops.analysis.comparisons import CPU, METRICS, SIGNIFICANCE, superiority
from hops.analysis.cost import TOTAL, used_by_group
from hops.analysis.latencies import Latencies, latencies_of
from hops.analysis.summary import check_run
from hops.gates.experiment import experiment_gates, failed
from hops.run.delay_notice import delay_notice
from hops.run.documents import SCHEMA
from hops.run.files import RunFiles
from hops.statistics.holm import holm
from hops.statistics.over_blocks import Section, rate_section
from hops.statistics.unpaired import unpaired_contrast
from hops.units import ALL

#: Those that a threshold looks at unless the user names others.
WATCHED = ("p50", "p99")
KNOWN_METRICS = (*METRICS, CPU)

Verdict = Literal["higher", "lower", "not_shown", "unknown"]
#: `shown`: beyond the threshold with its whole interval. `possible`: the figure itself is, its interval is not.
Regression = Literal["shown", "possible", "no", "unknown"]


class RunDifference(TypedDict):
    """One metric of one journey, of two runs.

    `difference` is b less a, in ms, `ratio` b through a. `effect` is the chance that a journey of b takes less time
    than one of a. `verdict` is about b, by `p_holm`. `regression` is None where no threshold was given or the metric is
    not watched.
    """

    topology_a: str
    topology_b: str
    journey: str
    metric: str
    a: float | None
    b: float | None
    difference: float | None
    ci95: list[float | None]
    ratio: float | None
    ratio_ci95: list[float | None]
    p: float | None
    p_holm: float | None
    effect: float | None
    verdict: Verdict
    regression: Regression | None
    reason: str | None


class RunFacts(TypedDict):
    """One of the two runs; `reasons` are the gates that fail, `notice` says what was slowed on purpose, or nothing."""

    name: str
    blocks: int
    valid: bool
    reasons: list[str]
    notice: str


class RunsComparison(TypedDict):
    """The whole comparison, as `--json` prints it. `threshold` is a share: 0.1 is 10 %."""

    schema: int
    a: RunFacts
    b: RunFacts
    mode: str
    valid: bool
    differs: list[Differs]
    threshold: float | None
    metrics: list[str]
    rows: list[RunDifference]


@dataclass(frozen=True, slots=True)
class Threshold:
    """How much slower is too much.

    Args:
        share: of the figure of `a`: 0.1 is 10 %.
        metrics: that are watched.
    """

    share: float
    metrics: Sequence[str] = WATCHED

    def judge(self, row: RunDifference) -> Regression | None:
        """Whether b is worse than a by more than the threshold.

        It is shown only if the near end of the ratio's 95 % interval lies beyond the threshold, and the difference
        itself is shown after Holm's correction: an alarm that stops a build must not be noise.
        """
        if row["metric"] not in self.metrics:
            return None
        ratio, low = row["ratio"], row["ratio_ci95"][0]
        if ratio is None or low is None or row["verdict"] == "unknown":
            return "unknown"
        limit = 1 + self.share
        if low > limit and row["verdict"] == "higher":
            return "shown"
        return "possible" if ratio > limit else "no"


def compare_runs(a: RunFiles, b: RunFiles, threshold: Threshold | None = None) -> RunsComparison:
    """Compares two runs.

    Args:
        a: the earlier one, or the one to hold against.
        b: the other.
        threshold: how much slower is too much; None to judge nothing.

    Raises:
        MalformedRunError: the files of a run contradict each other, or lack something.
        NotComparableError: their difference would say nothing.
    """
    for run in (a, b):
        require_fields(run)
        check_run(run)
    require_comparable(a, b)
    rows: list[RunDifference] = []
    for name_a, name_b in pairs(a, b):
        rows += _latency_rows(_latencies(a, name_a), _latencies(b, name_b), name_a, name_b)
        rows.append(_row(name_a, name_b, ALL, CPU, _cpu(a, name_a), _cpu(b, name_b), None))
    rows = _corrected(rows)
    if threshold is not None:
        for row in rows:
            row["regression"] = threshold.judge(row)
    facts = [_facts(run) for run in (a, b)]
    return RunsComparison(
        schema=SCHEMA,
        a=facts[0],
        b=facts[1],
        mode=a.manifest["mode"],
        valid=all(fact["valid"] for fact in facts),
        differs=what_differs(a, b),
        threshold=None if threshold is None else threshold.share,
        metrics=[] if threshold is None else list(threshold.metrics),
        rows=rows,
    )


def regressions(found: RunsComparison, level: Regression) -> list[RunDifference]:
    """The rows that the threshold judged so."""
    return [row for row in found["rows"] if row["regression"] == level]


def watched(found: RunsComparison) -> list[RunDifference]:
    """The rows that the threshold looked at."""
    return [row for row in found["rows"] if row["regression"] is not None]


def _latencies(run: RunFiles, topology: str) -> Latencies:
    return latencies_of(run.journeys.filter(pl.col("topology") == topology))


def _cpu(run: RunFiles, topology: str) -> Section:
    return rate_section(used_by_group(run, topology)[TOTAL].values(), 1e3)


def _latency_rows(mine: Latencies, other: Latencies, name_a: str, name_b: str) -> list[RunDifference]:
    blocks_a, blocks_b = sorted(mine.blocks), sorted(other.blocks)
    rows = []
    for journey in (ALL, *sorted({*mine.cells, *other.cells} - {ALL})):
        left, right = mine.sections(journey, blocks_a), other.sections(journey, blocks_b)
        effect = superiority(other.pooled(journey, blocks_b), mine.pooled(journey, blocks_a))
        rows += [
            _row(name_a, name_b, journey, metric, left[metric], right[metric], effect)
            for metric in METRICS
            # Few runs are long enough for p99.9, and rows of refusals help nobody.
            if metric != "p99_9" or not (left[metric].reason or right[metric].reason)
        ]
    return rows


def _row(
    name_a: str, name_b: str, journey: str, metric: str, mine: Section, other: Section, effect: float | None
) -> RunDifference:
    found = unpaired_contrast(other, mine)
    reasons = [f"{letter}: {side.reason}" for letter, side in (("a", mine), ("b", other)) if side.reason]
    return RunDifference(
        topology_a=name_a,
        topology_b=name_b,
        journey=journey,
        metric=metric,
        a=mine.value,
        b=other.value,
        difference=found.difference,
        ci95=list(found.interval),
        ratio=found.ratio,
        ratio_ci95=list(found.ratio_interval),
        p=found.p,
        p_holm=None,
        effect=effect,
        verdict="unknown",
        regression=None,
        reason="; ".join(reasons) or found.reason,
    )


def _corrected(rows: Sequence[RunDifference]) -> list[RunDifference]:
    """Adds Holm's correction over all rows of one metric, and the verdicts."""
    made = [row.copy() for row in rows]
    for metric in dict.fromkeys(row["metric"] for row in made):
        family = {i: row["p"] for i, row in enumerate(made) if row["metric"] == metric and row["p"] is not None}
        for index, p_holm in holm(family).items():
            row = made[index]
            row["p_holm"] = p_holm
            row["verdict"] = "not_shown"
            if p_holm < SIGNIFICANCE and row["difference"]:
                row["verdict"] = "higher" if row["difference"] > 0 else "lower"
    return made


def _facts(run: RunFiles) -> RunFacts:
    reasons = failed(experiment_gates(run))
    notice = delay_notice(run.manifest["switches"])
    return RunFacts(name=run.path.name, blocks=run.blocks, valid=not reasons, reasons=reasons, notice=notice)
