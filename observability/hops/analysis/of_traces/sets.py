"""Two sets of traces: which operations take longer in the second, and which parts of them.

All operations and figures are corrected for together, so that two equal sets show a difference in at most 5 % of all
cases; parts are looked at only where an operation differs, and are corrected for among each other. What the sets do not
share, such as load, time and machine, is in the difference: two sets are no experiment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeVar

from hops.analysis.of_traces.timelines import P99_BAND, TOTAL, Timeline
from hops.errors import NotComparableError
from hops.statistics.contrast import NO_SCATTER, contrast, independent
from hops.statistics.correction import SIGNIFICANCE, corrected
from hops.statistics.in_time import difference
from hops.statistics.intervals import Interval
from hops.statistics.over_blocks import MEAN

METRICS = (MEAN, "p50", "p99")
Verdict = Literal["slower", "faster", "not shown", "cannot tell"]


@dataclass(frozen=True, slots=True)
class Differing:
    """One figure of an operation in both sets, ms.

    Attributes:
        operation: Its name.
        metric: One of `METRICS`.
        traces: Traces in a and in b.
        a_ms: Figure in a.
        b_ms: Figure in b.
        ratio: b over a.
        ratio_ci95: Its interval.
        p: Corrected for all comparisons; None if there are too few traces.
        reason: Why there is no interval; None if there is one.
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
        """How b is beside a."""
        if self.p is None:
            return "cannot tell"
        if self.p >= SIGNIFICANCE:
            return "not shown"
        return "slower" if self.b_ms > self.a_ms else "faster"


@dataclass(frozen=True, slots=True)
class PartDiffering:
    """One part of an operation that differs, ms.

    Attributes:
        operation: The operation.
        part: The part.
        band: The mean over all traces, or over those of the p99 band.
        a_ms: Its mean in a.
        b_ms: Its mean in b.
        difference_ms: b minus a.
        ci95: Interval of the difference.
        p: Corrected for the parts of the operation; None if there are too few traces.
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
    """What two sets of traces differ in.

    Attributes:
        figures: Of each operation that both have.
        parts: Of each operation that differs, those that differ most first.
        only: Operations that only a has, and only b.
    """

    figures: list[Differing]
    parts: list[PartDiffering]
    only: tuple[list[str], list[str]]

    def as_document(self) -> dict[str, Any]:
        """For programs."""
        return {
            "figures": [{**asdict(row), "verdict": row.verdict} for row in self.figures],
            "parts": [{**asdict(row), "shown": row.shown} for row in self.parts],
            "only_in_a": self.only[0],
            "only_in_b": self.only[1],
        }


def compare_sets(a: Mapping[str, Timeline], b: Mapping[str, Timeline]) -> Sets:
    """Compares two sets.

    Args:
        a: What was measured in one set, by operation.
        b: The same in the other.

    Raises:
        NotComparableError: No operation is in both.
    """
    both = [name for name in a if name in b]
    only = [name for name in a if name not in b], [name for name in b if name not in a]
    if not both:
        raise NotComparableError(f"no operation is in both: A has {', '.join(only[0])}; B has {', '.join(only[1])}")
    figures = _corrected(
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
    found = contrast(right, left, independent)
    assert left.value is not None
    assert right.value is not None
    traces = a.total_ms.size, b.total_ms.size
    ratio = found.ratio, found.ratio_interval
    reason = "the sections do not scatter" if found.reason == NO_SCATTER else found.reason
    return Differing(name, metric, traces, left.value, right.value, *ratio, found.p, reason)


Row = TypeVar("Row", Differing, PartDiffering)


def _corrected(rows: list[Row], name_of: Callable[[Row], str]) -> list[Row]:
    """The rows with each p corrected for all: each is a family of its own, of which the correction is Holm's."""
    found = corrected({(name_of(row), "a", "b"): row.p for row in rows if row.p is not None})
    return [replace(row, p=found[name_of(row), "a", "b"].p) if row.p is not None else row for row in rows]


def _parts(operation: str, band: str, a: Timeline, b: Timeline) -> list[PartDiffering]:
    rows = []
    for part in sorted({*a.parts_ms, *b.parts_ms}):
        left, right = a.figure(part, band), b.figure(part, band)
        size, interval, p = difference(left, right)
        assert left.value is not None
        assert right.value is not None
        rows.append(PartDiffering(operation, part, band, left.value, right.value, size, interval, p))
    rows = _corrected(rows, lambda row: row.part)
    return sorted(rows, key=lambda row: (not row.shown, -abs(row.difference_ms), row.part))
