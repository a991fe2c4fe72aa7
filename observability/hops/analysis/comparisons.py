"""Which of two systems is faster, for which journey, by how much, and how certain that is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from scipy import stats

from hops.analysis.latencies import Latencies
from hops.run.documents import Comparison, Difference, Finding, Tested
from hops.statistics.contrast import Contrast, contrast
from hops.statistics.holm import holm
from hops.statistics.over_blocks import Section, rate_section
from hops.statistics.sample import Floats
from hops.units import ALL

#: The share of experiments without any difference that may show one, for each metric.
SIGNIFICANCE = 0.05
METRICS = ("mean", "p50", "p90", "p95", "p99", "p99_9")
CPU = "cpu_ms"
#: Shown only where there are enough journeys for it: few runs are long enough, and rows of refusals help nobody.
_RARE = frozenset({"p99_9"})


class Pair(NamedTuple):
    """One metric of one journey, of two systems.

    Args:
        journey: name, or `all`.
        metric: one of `METRICS`, or `CPU`.
        left: the figure of one system.
        right: the figure of the other, which is subtracted.
        effect: probability that a journey of the left is faster than one of the right; None for `CPU`.
    """

    journey: str
    metric: str
    left: Section
    right: Section
    effect: float | None = None


def compare_latencies(
    topologies: Mapping[str, Latencies], pairs: Sequence[tuple[str, str]] | None = None
) -> list[Comparison]:
    """Compares each pair of topologies, for all journeys together and each of them, by each metric.

    Args:
        topologies: latencies by topology, in the order in which the user named them.
        pairs: which to compare, left and right of each; every pair in that order if None.

    Returns:
        Rows by pair, `all` before the journeys by name, then by metric; without the verdicts that `correct` adds.
    """
    rows: list[Comparison] = []
    for left, right in combinations(topologies, 2) if pairs is None else pairs:
        blocks = sorted(topologies[left].blocks & topologies[right].blocks)
        figures = latency_pairs(topologies[left], topologies[right], blocks, blocks)
        rows += [_comparison(left, right, pair) for pair in figures]
    return rows


def compare_cpu(
    topologies: Mapping[str, Mapping[int, tuple[float, int]]], pairs: Sequence[tuple[str, str]] | None = None
) -> list[Comparison]:
    """Compares the CPU that a journey costs, ms, between each pair of topologies.

    Args:
        topologies: block -> (CPU seconds of all but the generator, journeys), by topology.
        pairs: as `compare_latencies` has them.
    """
    rows: list[Comparison] = []
    for left, right in combinations(topologies, 2) if pairs is None else pairs:
        blocks = sorted(topologies[left].keys() & topologies[right].keys())
        sides = [rate_section([topologies[name][block] for block in blocks], 1e3) for name in (left, right)]
        rows.append(_comparison(left, right, Pair(ALL, CPU, sides[0], sides[1])))
    return rows


def latency_pairs(
    left: Latencies, right: Latencies, left_blocks: Sequence[int], right_blocks: Sequence[int]
) -> Iterator[Pair]:
    """Pairs the latencies of two systems: `all` before the journeys by name, then by metric.

    Args:
        left: of one system.
        right: of the other.
        left_blocks: the blocks of the left that count.
        right_blocks: the blocks of the right that count.
    """
    for journey in (ALL, *sorted({*left.cells, *right.cells} - {ALL})):
        ours, theirs = left.sections(journey, left_blocks), right.sections(journey, right_blocks)
        effect = superiority(left.pooled(journey, left_blocks), right.pooled(journey, right_blocks))
        for metric in METRICS:
            if metric not in _RARE or not (ours[metric].reason or theirs[metric].reason):
                yield Pair(journey, metric, ours[metric], theirs[metric], effect)


def tested(result: Contrast, effect: float | None) -> Tested:
    """The figures of a contrast as documents hold them; `correct` adds `p_holm`."""
    return Tested(
        difference=result.difference,
        ci95=list(result.interval),
        ratio=result.ratio,
        ratio_ci95=list(result.ratio_interval),
        p=result.p,
        p_holm=None,
        effect=effect,
    )


def correct(
    rows: Sequence[Difference],
    *,
    lower: Finding = "left_lower",
    higher: Finding = "right_lower",
) -> None:
    """Writes Holm's correction, over all rows of one metric, into the rows, and the verdict that follows from it.

    Args:
        rows: of one run, or of one pair of runs.
        lower: verdict where a difference below 0 is shown.
        higher: verdict where a difference above 0 is shown.
    """
    for metric in {row["metric"] for row in rows}:
        tests = {i: row["p"] for i, row in enumerate(rows) if row["metric"] == metric and row["p"] is not None}
        for index, p_holm in holm(tests).items():
            row = rows[index]
            row["p_holm"] = p_holm
            row["verdict"] = "not_shown"
            if p_holm < SIGNIFICANCE and row["difference"]:
                row["verdict"] = lower if row["difference"] < 0 else higher


def superiority(left: Floats, right: Floats) -> float | None:
    """Chance that a value of the left is below one of the right, ties counted half; None if a side is empty.

    Mann and Whitney's U divided by the number of pairs: 0.5 where neither side tends to be lower. Its p value is not
    used, as it takes journeys of one trial for independent (ADR 010).
    """
    if not left.size or not right.size:
        return None
    above = stats.mannwhitneyu(left, right, method="asymptotic").statistic
    return float(1 - above / (left.size * right.size))


def _comparison(left: str, right: str, pair: Pair) -> Comparison:
    result = contrast(pair.left, pair.right)
    return Comparison(
        journey=pair.journey,
        metric=pair.metric,
        left=left,
        right=right,
        left_value=pair.left.value,
        right_value=pair.right.value,
        **tested(result, pair.effect),
        verdict="unknown",
        reason=result.reason,
    )
