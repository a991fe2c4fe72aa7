"""A page with only the exemplars of a run, the topologies of a comparison side by side; it needs no Jaeger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hops.budget.parts import Budget, budget_of_tree
from hops.elements import numbers
from hops.report.palette import Look, group_key, looks
from hops.report.sections.exemplar import drawn_groups, waterfall
from hops.report.templates import render, source
from hops.traces.tree import Node, Tree

Exemplars = Mapping[str, tuple[Sequence[str], Tree]]
"""By trace ID: what the trace is an exemplar of, such as `checkout p50`, and its tree."""
_Drawn = tuple[Look, Tree, Node, Budget]


def exemplar_page(run: str, loaded: str, exemplars: Mapping[str, Exemplars]) -> str:
    """Writes the page as HTML; `loaded` says in a sentence without its full stop how many of the traces are loaded."""
    by_title: dict[str, list[_Drawn]] = {}
    groups: set[str] = set()
    for look, traces in zip(looks(list(exemplars)), exemplars.values(), strict=True):
        for stands_for, tree in traces.values():
            root, budget = tree.root, budget_of_tree(tree)
            if root is None or budget is None:
                continue
            groups |= drawn_groups(root)
            for title in stands_for:
                by_title.setdefault(title, []).append((look, tree, root, budget))
    first: dict[str, str] = {}
    sections = [_section(title, by_title[title], first) for title in sorted(by_title)]
    style = source("style.css")
    topologies = ", ".join(exemplars)
    key = group_key(groups)
    return str(
        render("exemplars.html", topologies=topologies, run=run, loaded=loaded, sections=sections, key=key, style=style)
    )


def _section(title: str, drawn: Sequence[_Drawn], first: dict[str, str]) -> dict[str, object]:
    """Makes the template's values for one percentile of one journey; a trace is drawn only where it occurs first."""
    scale = max(budget.total_ns for *_, budget in drawn)
    traces = []
    for look, tree, root, budget in drawn:
        trace_id = root.span.trace_id
        largest, ns = max(budget.parts.items(), key=lambda part: part[1])
        traces.append(
            {
                "trace_id": trace_id,
                "topology": look.name,
                "total": numbers.plain(budget.total_ns / 1e6),
                "largest": f"{largest}, {numbers.plain(ns / 1e6)} ms",
                "first": first.get(trace_id, ""),
                "waterfall": "" if trace_id in first else waterfall(look, budget.journey, tree, root, scale),
            }
        )
        first.setdefault(trace_id, title)
    return {"title": title, "traces": traces}
