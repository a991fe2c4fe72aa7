"""How long the traces of each root operation took, and what of it each part had, in the order of time."""

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
"""Figures of an operation's total, and of what a part has of it: mean, percentiles, and the mean over the traces whose
total is at or above its 99th percentile."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """What one root operation's traces took, ms.

    Args:
        total_ms: Of each trace, in the order of their starts.
        parts_ms: Of each part, the same traces; 0 where it is not on the path.
    """

    total_ms: Floats
    parts_ms: Mapping[str, Floats]

    def figure(self, part: str, name: str) -> Section:
        """A figure of a part, or of `total`, with sections over time.

        Args:
            part: The part; one that no trace has took nothing.
            name: One of `FIGURES`.
        """
        own = self.total_ms if part == TOTAL else self.parts_ms.get(part, np.zeros_like(self.total_ms))
        if name == P99_BAND:
            return in_time(np.column_stack([self.total_ms, own]), _band, least_rows(0.99))
        share = PERCENTILES.get(name)
        figure: Figure = np.mean if share is None else partial(np.quantile, q=share)
        return in_time(own, figure, least_rows(share))


def budget_of(tree: Tree) -> tuple[int, Budget]:
    """When a trace with a root began, Unix time in ns, and its budget."""
    budget = budget_of_any(tree)
    assert tree.root is not None
    assert budget is not None
    return tree.root.start_ns, budget


def timelines_of(budgets: Iterable[tuple[int, Budget]]) -> dict[str, Timeline]:
    """Timelines by root operation.

    Args:
        budgets: Start of each trace, Unix time in ns, and its budget.

    Returns:
        By operation, in alphabetical order.
    """
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
