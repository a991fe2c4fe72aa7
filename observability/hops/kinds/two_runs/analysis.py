"""Two runs compared: what changed, by how much, and how certain that is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

import polars as pl

from hops.analysis.comparisons import CPU, METRICS, Pair, describe_contrast, judge, latency_pairs
from hops.analysis.cost import TOTAL, used_by_group
from hops.analysis.latencies import Latencies, latencies_of
from hops.analysis.summary import check_run
from hops.gates.experiment import experiment_gates
from hops.gates.verdict import failing_gates, verdict_of_failed, worst_verdict
from hops.kinds.two_runs.comparable import Differs, pairs, require_comparable, what_differs
from hops.run.documents import SCHEMA
from hops.run.documents.difference import Difference
from hops.run.documents.gate import Verdict
from hops.run.fault_notice import fault_notice
from hops.run.files import RunFiles
from hops.statistics.contrast import contrast, spread_if_independent
from hops.statistics.over_blocks import Section, rate_section
from hops.units import ALL

WATCHED = ("p50", "p99")
"""Metrics that a threshold applies to unless the user names other metrics."""
KNOWN_METRICS = (*METRICS, CPU)

Regression = Literal["shown", "possible", "no", "unknown"]
"""`shown`: the whole interval is beyond the threshold. `possible`: only the ratio itself is."""


class RunDifference(Difference):
    """One metric of one journey in two runs: `difference` is b minus a, `ratio` is b divided by a.

    `effect` is the probability that a journey of b is faster than a journey of a. `verdict` says whether b is `lower`
    or `higher`. `regression` is None without a threshold, or if the metric is not watched.
    """

    topology_a: str
    topology_b: str
    a: float | None
    b: float | None
    regression: Regression | None


class RunFacts(TypedDict):
    """One of the two runs; `reasons` are its failing gates; `notice` says what was slowed on purpose, if anything."""

    name: str
    blocks: int
    verdict: Verdict
    reasons: list[str]
    notice: str


class RunsComparison(TypedDict):
    """The whole comparison, as printed by `--json`. `threshold` is a share: 0.1 is 10 %."""

    schema: int
    a: RunFacts
    b: RunFacts
    mode: str
    verdict: Verdict
    differs: list[Differs]
    threshold: float | None
    metrics: list[str]
    rows: list[RunDifference]


@dataclass(frozen=True, slots=True)
class Threshold:
    """How much slower is too much, as a share of the figure of `a`: 0.1 is 10 %."""

    share: float
    metrics: Sequence[str] = WATCHED

    def judge(self, row: RunDifference) -> Regression | None:
        """Judges whether b is worse than a by more than the threshold.

        A regression is `shown` only if the lower end of the ratio's 95 % interval is beyond the threshold, and the
        difference itself is shown after the correction. An alarm that stops a build must not be noise.
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
    """Compares two runs; without a threshold, there is no verdict on regressions.

    Raises:
        MalformedRunError: The files of a run contradict each other, or lack something.
        NotComparableError: A difference between the two would be meaningless.
    """
    for run in (a, b):
        check_run(run)
    of_both = pairs(a, b)
    require_comparable(a, b, of_both)
    compared: list[tuple[str, str, Pair]] = []
    for name_a, name_b in of_both:
        before, after = _latencies(a, name_a), _latencies(b, name_b)
        both = latency_pairs(after, before, sorted(after.blocks), sorted(before.blocks))
        cpu = Pair(ALL, CPU, _cpu(b, name_b), _cpu(a, name_a))
        compared += [(name_a, name_b, pair) for pair in (*both, cpu)]
    rows = judge_runs(compared, threshold)
    facts = [_facts(run) for run in (a, b)]
    return RunsComparison(
        schema=SCHEMA,
        a=facts[0],
        b=facts[1],
        mode=a.manifest["mode"],
        verdict=worst_verdict(fact["verdict"] for fact in facts),
        differs=what_differs(a, b, of_both),
        threshold=None if threshold is None else threshold.share,
        metrics=[] if threshold is None else list(threshold.metrics),
        rows=rows,
    )


def judge_runs(compared: Iterable[tuple[str, str, Pair]], threshold: Threshold | None) -> list[RunDifference]:
    """Tests figures of two runs, each with the topology's names in a and in b; the left side of a pair is b."""
    rows = [_row(name_a, name_b, pair) for name_a, name_b, pair in compared]
    # Topologies with the same name in two runs are two systems.
    judge(rows, lambda row: (f"a {row['topology_a']}", f"b {row['topology_b']}"), "lower", "higher")
    if threshold is not None:
        for row in rows:
            row["regression"] = threshold.judge(row)
    return rows


def regressions(comparison: RunsComparison, level: Regression) -> list[RunDifference]:
    """Lists the rows whose comparison with the threshold has this verdict."""
    return [row for row in comparison["rows"] if row["regression"] == level]


def list_watched(comparison: RunsComparison) -> list[RunDifference]:
    """Lists the rows that the threshold applies to."""
    return [row for row in comparison["rows"] if row["regression"] is not None]


def _latencies(run: RunFiles, topology: str) -> Latencies:
    return latencies_of(run.journeys.filter(pl.col("topology") == topology), run.first_stage)


def _cpu(run: RunFiles, topology: str) -> Section:
    return rate_section(used_by_group(run, topology).get(TOTAL, {}).values(), 1e3, run.first_stage)


def _row(name_a: str, name_b: str, pair: Pair) -> RunDifference:
    result = contrast(pair.left, pair.right, spread_if_independent)
    reasons = [f"{name}: {side.reason}" for name, side in (("a", pair.right), ("b", pair.left)) if side.reason]
    return RunDifference(
        topology_a=name_a,
        topology_b=name_b,
        journey=pair.journey,
        metric=pair.metric,
        a=pair.right.value,
        b=pair.left.value,
        **describe_contrast(result, pair.effect),
        verdict="unknown",
        regression=None,
        reason="; ".join(reasons) or result.reason,
    )


def _facts(run: RunFiles) -> RunFacts:
    reasons = failing_gates(experiment_gates(run))
    verdict = verdict_of_failed(reasons)
    notice = fault_notice(run.manifest["switches"])
    return RunFacts(name=run.path.name, blocks=run.blocks, verdict=verdict, reasons=reasons, notice=notice)
