"""Compares two sets of traces: which operations, and which of their parts, take longer in the second set.

P values are corrected over all operations and figures, so two equal sets show a difference in at most 5 % of cases.
Parts are tested only where an operation differs, and are corrected among each other. Two sets are not an
experiment: differences in load, time and machine affect the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeVar

from hops.analysis.of_traces.timelines import P99_BAND, TOTAL, Timeline
from hops.errors import NotComparableError
from hops.statistics.contrast import contrast, spread_if_independent
from hops.statistics.correction import SIGNIFICANCE, correct_tests
from hops.statistics.in_time import difference
from hops.statistics.intervals import Interval
from hops.statistics.over_blocks import MEAN

METRICS = (MEAN, "p50", "p99")
Verdict = Literal["slower", "faster", "not shown", "cannot tell"]


@dataclass(frozen=True, slots=True)
class Differing:
    """One figure of an operation in both sets, ms.

    Attributes:
        traces: Number of traces in A and in B.
        p: P value, corrected for all comparisons; None with too few traces.
    """

    operation: str
    metric: str
    traces: tuple[int, int]
    a_ms: float
    b_ms: float
    ratio: float | None
    ratio_ci95: Interval
    p: float | None
    reason: str | None

    @property
    def verdict(self) -> Verdict:
        """How B compares with A."""
        if self.p is None:
            return "cannot tell"
        if self.p >= SIGNIFICANCE:
            return "not shown"
        return "slower" if self.b_ms > self.a_ms else "faster"


@dataclass(frozen=True, slots=True)
class PartDiffering:
    """One part of an operation that differs, ms.

    Attributes:
        band: `mean` over all traces, or `p99_band` for the mean over the traces of that band.
        p: P value, corrected for the parts of the operation; None with too few traces.
    """

    operation: str
    part: str
    band: str
    a_ms: float
    b_ms: float
    difference_ms: float
    ci95: Interval
    p: float | None

    @property
    def shown(self) -> bool:
        """Whether the part is shown to differ."""
        return self.p is not None and self.p < SIGNIFICANCE


@dataclass(frozen=True, slots=True)
class Sets:
    """How two sets of traces differ; `only` has operations that are only in A, and only in B."""

    figures: list[Differing]
    parts: list[PartDiffering]
    only: tuple[list[str], list[str]]

    def as_document(self) -> dict[str, Any]:
        """Converts the result to plain values for programs."""
        return {
            "figures": [{**asdict(row), "verdict": row.verdict} for row in self.figures],
            "parts": [{**asdict(row), "shown": row.shown} for row in self.parts],
            "only_in_a": self.only[0],
            "only_in_b": self.only[1],
        }


def compare_sets(a: Mapping[str, Timeline], b: Mapping[str, Timeline]) -> Sets:
    """Compares two sets of traces; raises `NotComparableError` if no operation is in both sets."""
    both = [name for name in a if name in b]
    only = [name for name in a if name not in b], [name for name in b if name not in a]
    if not both:
        has = f"A has {', '.join(only[0])}; B has {', '.join(only[1])}"
        raise NotComparableError(f"no operation is in both sets: {has}")
    figures = _correct(
        [_figure(name, metric, a[name], b[name]) for name in both for metric in METRICS],
        lambda row: f"{row.operation} {row.metric}",
    )
    parts = []
    for name in both:
        differs = [row.metric for row in figures if row.operation == name and row.verdict in ("slower", "faster")]
        if differs:
            parts += _parts(name, P99_BAND if differs == ["p99"] else MEAN, a[name], b[name])
    return Sets(figures, parts, only)


def _figure(name: str, metric: str, a: Timeline, b: Timeline) -> Differing:
    left, right = a.figure(TOTAL, metric), b.figure(TOTAL, metric)
    result = contrast(right, left, spread_if_independent, unit="section")
    assert left.value is not None
    assert right.value is not None
    traces = a.total_ms.size, b.total_ms.size
    ratio = result.ratio, result.ratio_interval
    return Differing(name, metric, traces, left.value, right.value, *ratio, result.p, result.reason)


Row = TypeVar("Row", Differing, PartDiffering)


def _correct(rows: list[Row], name_of: Callable[[Row], str]) -> list[Row]:
    """Corrects the p value of each row for all rows, by Holm's method; each row is a family by itself."""
    corrected = correct_tests({(name_of(row), "a", "b"): row.p for row in rows if row.p is not None})
    return [replace(row, p=corrected[name_of(row), "a", "b"].p) if row.p is not None else row for row in rows]


def _parts(operation: str, band: str, a: Timeline, b: Timeline) -> list[PartDiffering]:
    rows = []
    for part in sorted({*a.parts_ms, *b.parts_ms}):
        left, right = a.figure(part, band), b.figure(part, band)
        size, interval, p = difference(left, right)
        assert left.value is not None
        assert right.value is not None
        rows.append(PartDiffering(operation, part, band, left.value, right.value, size, interval, p))
    rows = _correct(rows, lambda row: row.part)
    return sorted(rows, key=lambda row: (not row.shown, -abs(row.difference_ms), row.part))
