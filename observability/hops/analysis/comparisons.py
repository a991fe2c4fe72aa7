"""Which of two systems is faster, in which journey, by how much, and how certain that is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, TypeVar

import numpy as np

from hops.analysis.latencies import Latencies, pair_sections
from hops.run.documents.difference import Comparison, Difference, Finding, Tested
from hops.statistics.contrast import Contrast, contrast, visible_ratio
from hops.statistics.correction import SIGNIFICANCE, correct_tests
from hops.statistics.intervals import Floats
from hops.statistics.over_blocks import Section, rate_section
from hops.units import ALL

METRICS = ("mean", "p50", "p90", "p95", "p99", "p99_9")
CPU = "cpu_ms"
_RARE = frozenset({"p99_9"})
"""Metrics that are compared only where there are enough journeys: rows without a result help nobody."""

_Row = TypeVar("_Row", bound=Difference)


class Pair(NamedTuple):
    """One metric of one journey in two systems.

    Args:
        effect: Probability that a journey of the left system is faster than a journey of the right; None for `CPU`.
    """

    journey: str
    metric: str
    left: Section
    right: Section
    effect: float | None = None


def compare_latencies(
    topologies: Mapping[str, Latencies], pairs: Sequence[tuple[str, str]] | None = None
) -> list[Comparison]:
    """Compares each pair of topologies by each metric, in all journeys together and in each of them.

    Args:
        pairs: Pairs to compare, left and right; every pair in that order if None.

    Returns:
        Rows by pair, `all` before the journeys by name, then by metric; without the verdicts, which `correct` adds.
    """
    rows: list[Comparison] = []
    for left, right in combinations(topologies, 2) if pairs is None else pairs:
        blocks = sorted(topologies[left].blocks & topologies[right].blocks)
        figures = latency_pairs(topologies[left], topologies[right], blocks, blocks)
        rows += [_comparison(left, right, pair) for pair in figures]
    return rows


def compare_cpu(
    topologies: Mapping[str, Mapping[int, tuple[float, int]]],
    pairs: Sequence[tuple[str, str]] | None = None,
    first: int | None = None,
) -> list[Comparison]:
    """Compares each pair of topologies by CPU time of a journey, ms, from CPU seconds and journeys by block."""
    rows: list[Comparison] = []
    for left, right in combinations(topologies, 2) if pairs is None else pairs:
        blocks = sorted(topologies[left].keys() & topologies[right].keys())
        sides = [rate_section([topologies[name][block] for block in blocks], 1e3, first) for name in (left, right)]
        rows.append(_comparison(left, right, Pair(ALL, CPU, sides[0], sides[1])))
    return rows


def latency_pairs(
    left: Latencies, right: Latencies, left_blocks: Sequence[int], right_blocks: Sequence[int]
) -> Iterator[Pair]:
    """Pairs the latencies of two systems: `all`, then the journeys by name; in each, by metric."""
    for journey in (ALL, *sorted({*left.cells, *right.cells} - {ALL})):
        ours, theirs = pair_sections(left, right, journey, left_blocks, right_blocks)
        effect = superiority(left.pool(journey, left_blocks), right.pool(journey, right_blocks))
        for metric in METRICS:
            if metric not in _RARE or not (ours[metric].reason or theirs[metric].reason):
                yield Pair(journey, metric, ours[metric], theirs[metric], effect)


def describe_contrast(result: Contrast, effect: float | None) -> Tested:
    """Converts a contrast to its form in documents; `correct` adds `p_corrected` and `visible_ratio`."""
    return Tested(
        difference=result.difference,
        ci95=list(result.interval),
        ratio=result.ratio,
        ratio_ci95=list(result.ratio_interval),
        p=result.p,
        p_corrected=None,
        freedom=result.freedom,
        visible_ratio=None,
        effect=effect,
    )


def describe_comparison(
    journey: str,
    metric: str,
    names: tuple[str, str],
    values: tuple[float | None, float | None],
    result: Contrast,
    effect: float | None = None,
) -> Comparison:
    """Converts a contrast of two topologies to its form in documents, without the verdict, which `correct` adds."""
    return Comparison(
        journey=journey,
        metric=metric,
        left=names[0],
        right=names[1],
        left_value=values[0],
        right_value=values[1],
        **describe_contrast(result, effect),
        verdict="unknown",
        reason=result.reason,
    )


def correct(rows: Sequence[Comparison]) -> None:
    """Adds verdicts and visible ratios to comparisons of topologies, as `judge` does."""
    judge(rows, lambda row: (row["left"], row["right"]), "left_lower", "right_lower")


def judge(rows: Sequence[_Row], sides: Callable[[_Row], tuple[str, str]], lower: Finding, higher: Finding) -> None:
    """Corrects the rows of each metric for multiple comparisons, and adds verdicts and visible ratios to them."""
    for metric in {row["metric"] for row in rows}:
        of_metric = [row for row in rows if row["metric"] == metric and row["p"] is not None]
        tests = {(row["journey"], *sides(row)): row for row in of_metric}
        for test, result in correct_tests({test: row["p"] or 0.0 for test, row in tests.items()}).items():
            row = tests[test]
            row["p_corrected"] = result.p
            row["verdict"] = "not_shown"
            if result.p < SIGNIFICANCE and row["difference"]:
                row["verdict"] = lower if row["difference"] < 0 else higher
            ratio, high, freedom = row["ratio"], row["ratio_ci95"][1], row["freedom"]
            if ratio and high is not None and freedom is not None:
                row["visible_ratio"] = visible_ratio(ratio, high, freedom, result.level)


def superiority(left: Floats, right: Floats) -> float | None:
    """Estimates the probability that a left value is below a right one, ties counted half; None if a side is empty.

    It is Mann and Whitney's U divided by the number of pairs: 0.5 if neither side tends to be lower. Its p value is not
    used, because it treats journeys of one trial as independent (ADR 010).
    """
    if not left.size or not right.size:
        return None
    ordered = np.sort(right)
    not_above, below = (np.searchsorted(ordered, left, side=side).mean() for side in ("right", "left"))
    return float(1 - (not_above + below) / 2 / right.size)


def _comparison(left: str, right: str, pair: Pair) -> Comparison:
    values, result = (pair.left.value, pair.right.value), contrast(pair.left, pair.right)
    return describe_comparison(pair.journey, pair.metric, (left, right), values, result, pair.effect)
