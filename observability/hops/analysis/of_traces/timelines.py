"""How long the traces of each root operation took, and how long each of their parts took, in chronological order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from hops.budget.any_system import budget_of_any
from hops.budget.parts import Budget
from hops.statistics.in_time import Figure, in_time, least_rows
from hops.statistics.intervals import PERCENTILES, Floats
from hops.statistics.over_blocks import MEAN, Section
from hops.traces.tree import Tree
from hops.units import NS_PER_MS

P99_BAND = "p99_band"
TOTAL = "total"
FIGURES = (MEAN, *(name for name in PERCENTILES if name != "p99_9"), P99_BAND)
"""Figures of an operation's total and of its parts: mean, percentiles, and `p99_band`, the mean over the traces whose
total is at or above its 99th percentile."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """Durations of one root operation's traces, ms.

    Args:
        total_ms: Duration of each trace, ordered by start.
        parts_ms: Time of each part in the same traces; 0 if the part is not on the path.
    """

    total_ms: Floats
    parts_ms: Mapping[str, Floats]

    def figure(self, part: str, name: str) -> Section:
        """Computes a figure of a part, or of `total`, over time; a part that is in no trace took no time."""
        own = self.total_ms if part == TOTAL else self.parts_ms.get(part, np.zeros_like(self.total_ms))
        if name == P99_BAND:
            return in_time(np.column_stack([self.total_ms, own]), _band, least_rows(0.99))
        share = PERCENTILES.get(name)
        figure: Figure = np.mean if share is None else partial(np.quantile, q=share)
        return in_time(own, figure, least_rows(share))


def budget_of(tree: Tree) -> tuple[int, Budget]:
    """Returns the start (Unix time in ns) and the budget of a trace that has a root."""
    budget = budget_of_any(tree)
    assert tree.root is not None
    assert budget is not None
    return tree.root.start_ns, budget


def timelines_of(budgets: Iterable[tuple[int, Budget]]) -> dict[str, Timeline]:
    """Makes timelines by root operation, from the start of each trace (Unix time, ns) and its budget."""
    by_name: dict[str, list[Budget]] = defaultdict(list)
    for _, budget in sorted(budgets, key=lambda one: (one[0], one[1].trace_id)):
        by_name[budget.journey].append(budget)
    return {name: _timeline(own) for name, own in sorted(by_name.items())}


def _timeline(budgets: list[Budget]) -> Timeline:
    parts = sorted({part for budget in budgets for part in (*budget.parts, *budget.crossings)})
    return Timeline(
        np.array([budget.total_ns for budget in budgets]) / NS_PER_MS,
        {part: np.array([budget.parts.get(part, 0) for budget in budgets]) / NS_PER_MS for part in parts},
    )


def _band(rows: Floats) -> float:
    totals, own = rows.T
    return float(own[totals >= np.quantile(totals, 0.99)].mean())
