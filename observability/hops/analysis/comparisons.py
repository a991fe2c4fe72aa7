"""Which of two topologies is quicker, for which journey, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Literal

from scipy import stats

from hops.analysis.latencies import Latencies
from hops.run.documents import Comparison
from hops.statistics.holm import holm
from hops.statistics.over_blocks import Floats, Section, contrast, rate_section
from hops.units import ALL

#: The share of experiments without any difference that may show one, for each metric.
SIGNIFICANCE = 0.05
METRICS = ("mean", "p50", "p90", "p95", "p99", "p99_9")
CPU = "cpu_ms"
#: Shown only where there are enough journeys for it: few runs are long enough, and rows of refusals help nobody.
_RARE = frozenset({"p99_9"})

Verdict = Literal["left_lower", "right_lower", "not_shown", "unknown"]


def compare_latencies(topologies: Mapping[str, Latencies]) -> list[Comparison]:
    """Compares each pair of topologies, for all journeys together and each of them, by each metric.

    Args:
        topologies: latencies by topology, in the order in which the user named them.

    Returns:
        Rows by pair, `all` before the journeys by name, then by metric. `p_holm` is corrected over all pairs and
        journeys of one metric.
    """
    rows: list[Comparison] = []
    for left, right in combinations(topologies, 2):
        ours, theirs = topologies[left], topologies[right]
        blocks = sorted(ours.blocks & theirs.blocks)
        names = sorted({*ours.cells, *theirs.cells} - {ALL})
        for journey in (ALL, *names):
            mine, other = ours.sections(journey, blocks), theirs.sections(journey, blocks)
            effect = superiority(ours.pooled(journey, blocks), theirs.pooled(journey, blocks))
            rows += [
                compared(journey, metric, left, right, mine[metric], other[metric], effect)
                for metric in METRICS
                if metric not in _RARE or not (mine[metric].reason or other[metric].reason)
            ]
    return rows


def compare_cpu(topologies: Mapping[str, Mapping[int, tuple[float, int]]]) -> list[Comparison]:
    """Compares the CPU that a journey costs, ms, between each pair of topologies.

    Args:
        topologies: block -> (CPU seconds of all but the generator, journeys), by topology.
    """
    rows: list[Comparison] = []
    for left, right in combinations(topologies, 2):
        blocks = sorted(topologies[left].keys() & topologies[right].keys())
        sides = [rate_section([topologies[name][block] for block in blocks], 1e3) for name in (left, right)]
        rows.append(compared(ALL, CPU, left, right, sides[0], sides[1], None))
    return rows


def compared(
    journey: str, metric: str, left: str, right: str, mine: Section, other: Section, effect: float | None
) -> Comparison:
    """One row, without Holm's correction; `corrected` adds it."""
    found = contrast(mine, other)
    return Comparison(
        journey=journey,
        metric=metric,
        left=left,
        right=right,
        left_value=mine.value,
        right_value=other.value,
        difference=found.difference,
        ci95=list(found.interval),
        ratio=found.ratio,
        ratio_ci95=list(found.ratio_interval),
        p=found.p,
        p_holm=None,
        effect=effect,
        verdict="unknown",
        reason=found.reason,
    )


def corrected(rows: Sequence[Comparison]) -> list[Comparison]:
    """Adds Holm's correction, over all rows of one metric, and the verdict that follows from it."""
    found: dict[int, float] = {}
    for metric in dict.fromkeys(row["metric"] for row in rows):
        found |= holm({i: row["p"] for i, row in enumerate(rows) if row["metric"] == metric and row["p"] is not None})
    made: list[Comparison] = []
    for index, row in enumerate(rows):
        copy = row.copy()
        copy["p_holm"] = found.get(index)
        copy["verdict"] = _verdict(copy)
        made.append(copy)
    return made


def superiority(left: Floats, right: Floats) -> float | None:
    """Chance that a value of the left is below one of the right, ties counted half; None if a side is empty.

    Mann and Whitney's U through the number of pairs: 0.5 where neither side tends to be lower. Its p value is not
    used, as it takes journeys of one trial for independent (ADR 010).
    """
    if not left.size or not right.size:
        return None
    above = stats.mannwhitneyu(left, right, method="asymptotic").statistic
    return float(1 - above / (left.size * right.size))


def _verdict(row: Comparison) -> Verdict:
    p, difference = row["p_holm"], row["difference"]
    if p is None or difference is None:
        return "unknown"
    if p >= SIGNIFICANCE or not difference:
        return "not_shown"
    return "left_lower" if difference < 0 else "right_lower"
