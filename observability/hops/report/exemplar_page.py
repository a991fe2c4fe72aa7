"""A page of a run's exemplars alone, for where Jaeger has no pages of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hops.budget.groups import group_of
from hops.budget.parts import budget_of_tree
from hops.elements import numbers
from hops.report.palette import looks
from hops.report.sections.exemplar import group_key, waterfall
from hops.report.templates import render, source
from hops.traces.tree import Tree


def exemplar_page(topology: str, run: str, loaded: str, exemplars: Mapping[str, tuple[Sequence[str], Tree]]) -> str:
    """Writes the page.

    Args:
        topology: Name of the topology.
        run: Name of the run.
        loaded: How many of the run's traces these are, in a sentence without its full stop.
        exemplars: By trace id, what a trace is the exemplar of, such as `checkout p50`, and its tree.
    """
    (look,) = looks([topology])
    rows, groups = [], set()
    for trace_id, (stands_for, tree) in exemplars.items():
        root, budget = tree.root, budget_of_tree(tree)
        if root is None or budget is None:
            continue
        groups |= {group_of(part) for part in budget.parts}
        largest = max(budget.parts, key=lambda part: budget.parts[part])
        rows.append(
            {
                "trace_id": trace_id,
                "title": ", ".join(stands_for),
                "total": numbers.plain(budget.total_ns / 1e6),
                "largest": f"{largest}, {numbers.plain(budget.parts[largest] / 1e6)} ms",
                "waterfall": waterfall(look, budget.journey, tree, root, budget.total_ns),
            }
        )
    style = source("style.css")
    return str(
        render(
            "exemplars.html", topology=topology, run=run, loaded=loaded, rows=rows, key=group_key(groups), style=style
        )
    )
