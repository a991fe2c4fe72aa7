"""What traces would have shown with changed times: each trace's tree is laid out again, and all figures are recomputed.

A prediction is meant to be compared with a later measurement. So its interval is for what a new set of equally many
traces would show. It covers the traces' scatter over time, but not the effects of the change on queues, caches or load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hops.analysis.of_traces.timelines import TOTAL, Timeline, budget_of, timelines_of
from hops.budget.retiming import Scenario, retime
from hops.budget.scenario import Known
from hops.errors import NotEnoughDataError
from hops.statistics.in_time import interval_of
from hops.statistics.intervals import Interval
from hops.statistics.over_blocks import MEAN
from hops.traces.tree import Tree

METRICS = ("p50", "p99")


@dataclass(frozen=True, slots=True)
class Predicted:
    """One figure of an operation, ms; the predicted interval is for what a new set of as many traces would show."""

    metric: str
    measured_ms: float
    measured_ci95: Interval
    predicted_ms: float
    predicted_ci95: Interval
    reason: str | None


@dataclass(frozen=True, slots=True)
class Foreseen:
    """The prediction for one operation; `parts_ms` has measured and predicted means, the largest prediction first."""

    operation: str
    traces: int
    changed: int
    figures: tuple[Predicted, ...]
    parts_ms: Mapping[str, tuple[float, float]]

    @property
    def critical(self) -> tuple[str, str]:
        """The parts with the most time on the critical path, as measured and as predicted."""
        before, after = (max(self.parts_ms, key=lambda part: self.parts_ms[part][at]) for at in (0, 1))
        return before, after

    def as_document(self) -> dict[str, Any]:
        """Converts the prediction to plain values for programs."""
        before, after = self.critical
        return {**asdict(self), "critical": {"measured": before, "predicted": after}}


def predict(
    trees: Iterable[Tree], scenario_of: Callable[[Known], Scenario], *, others: Mapping[str, int] | None = None
) -> list[Foreseen]:
    """Predicts what each operation would take.

    Args:
        others: Number of traces in the predicted set, by operation; as many as measured if None.

    Raises:
        NotEnoughDataError: No trace has a root.
        InputError: The scenario changes something that is in no trace.
    """
    rooted, known = [], Known()
    for tree in trees:
        if tree.root is not None:
            known.add(tree)
            rooted.append(tree)
    if not rooted:
        raise NotEnoughDataError(
            "no trace has a root span whose times are known, so there is no end-to-end time to predict"
        )
    scenario = scenario_of(known)
    measured, predicted = [], []
    for tree in rooted:
        began_ns, budget = budget_of(tree)
        then = retime(tree, scenario)
        measured.append((began_ns, budget))
        predicted.append((began_ns, budget if then is None else budget_of(then)[1]))
    before, after = timelines_of(measured), timelines_of(predicted)
    return [
        _foreseen(name, before[name], after[name], (others or {}).get(name, before[name].total_ms.size))
        for name in before
    ]


def _foreseen(name: str, before: Timeline, after: Timeline, others: int) -> Foreseen:
    parts = {
        part: (before.figure(part, MEAN).value or 0.0, after.figure(part, MEAN).value or 0.0)
        for part in {*before.parts_ms, *after.parts_ms}
    }
    return Foreseen(
        operation=name,
        traces=before.total_ms.size,
        changed=int((before.total_ms != after.total_ms).sum()),
        figures=tuple(_predict_metric(metric, before, after, others) for metric in METRICS),
        parts_ms=dict(sorted(parts.items(), key=lambda item: (-item[1][1], item[0]))),
    )


def _predict_metric(metric: str, before: Timeline, after: Timeline, others: int) -> Predicted:
    was, will_be = before.figure(TOTAL, metric), after.figure(TOTAL, metric)
    assert was.value is not None
    assert will_be.value is not None
    return Predicted(
        metric,
        was.value,
        interval_of(was),
        will_be.value,
        interval_of(will_be, ahead=after.total_ms.size / others),
        will_be.reason,
    )
