"""One real trace for each journey and topology, as a waterfall that is also a table."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from hops.budget.groups import group_of
from hops.budget.parts import part_of
from hops.conclusions.wording import not_drawn, plural
from hops.elements import numbers
from hops.elements.element import Drawing, Element, Fold, Section, Text
from hops.report.palette import Look, group_key, part_class
from hops.report.templates import render
from hops.report.view import View
from hops.run.documents.trial import TrialRecord
from hops.sources.trace_set import read_sources
from hops.traces.shown import pieces_on_path, shown_spans
from hops.traces.span import Span
from hops.traces.tree import Node, Tree, grow

EXEMPLARS = "exemplars.jsonl"
_STEP, _DEEPEST = 0.7, 6.0
"""Indentation of a level, in rem, and maximum total indentation, which leaves room for names in a deep tree."""
_MIN_PERCENT = 0.25


def section(view: View) -> Section:
    """Makes the section on exemplars."""
    elements: list[Element] = [
        Text(
            f"One real trace for each journey and {view.compared.one}: the one nearest to the median of its trial, in "
            "the first block. The strong part of a bar is on the critical path: at that moment the customer waited for "
            "it. Pale parts ran in parallel with the path or enclose it. The time axis is the same for all "
            f"{view.compared.many} of a journey."
        )
    ]
    traces = {name: _traces(view, name) for name in view.topologies}
    groups: set[str] = set()
    for index, journey in enumerate(view.journeys):
        trees: list[tuple[Look, Tree, Node]] = []
        for look in view.looks:
            trial, spans = traces[look.name]
            chosen = trial["exemplars"].get(journey, {}).get("p50") if trial else None
            tree = grow(spans[chosen]) if chosen in spans else None
            if tree is not None and tree.root is not None:
                trees.append((look, tree, tree.root))
                groups |= drawn_groups(tree.root)
        if trees:
            scale = max(1, *(root.end_ns - root.start_ns for _, _, root in trees))
            drawn: list[Element] = [Drawing(waterfall(look, journey, tree, root, scale)) for look, tree, root in trees]
            elements.append(Fold(journey, drawn, opened=index == 0))
    if len(elements) == 1:
        elements = [Text("No trace was kept.", tone="note")]
    else:
        elements.insert(1, Drawing(render("key.html", key=group_key(groups))))
    return Section("exemplars", "One journey, hop by hop", elements, detail=True)


def drawn_groups(root: Node) -> set[str]:
    """Lists the groups of parts whose bars a trace's waterfall shows, pale ones included."""
    shown, _ = shown_spans(root, pieces_on_path(root))
    return {group_of(part_of(node)) for _, node in shown}


def waterfall(look: Look, journey: str, tree: Tree, root: Node, scale: int) -> Markup:
    """Draws one trace on a time axis of `scale` ns."""
    total = root.end_ns - root.start_ns
    on_path = pieces_on_path(root)
    nodes, left_out = shown_spans(root, on_path)
    rows = []
    for depth, node in nodes:
        pieces = _merge(on_path[node.span.span_id])
        own = sum(end - start for start, end in on_path[node.span.span_id])
        part = part_of(node)
        rows.append(
            {
                "depth": depth,
                "component": node.span.service,
                "name": node.span.name,
                "kind": node.span.kind.value.lower(),
                "group": part_class(part),
                "part": part if own else "",
                "start": numbers.plain((node.start_ns - root.start_ns) / 1e6),
                "length": numbers.plain((node.end_ns - node.start_ns) / 1e6),
                "own": numbers.plain(own / 1e6) if own else "",
                "bar": _bar(node.start_ns - root.start_ns, node.end_ns - root.start_ns, scale),
                "pieces": [_bar(start, end, scale) for start, end in pieces if (end - start) / scale > 0.001],
            }
        )
    ticks = [(round(100 * step / 4), numbers.plain(scale * step / 4 / 1e6)) for step in range(5)]
    return render(
        "waterfall.html",
        topology=look.name,
        index=look.index % 8,
        journey=journey,
        total=numbers.plain(total / 1e6),
        trace_id=root.span.trace_id,
        spans=plural(tree.quality.spans, "span"),
        rows=rows,
        step=f"{min(_STEP, _DEEPEST / max(1, *(depth for depth, _ in nodes))):.2f}",
        ticks=ticks,
        left_out=not_drawn(left_out),
    )


def _traces(view: View, topology: str) -> tuple[TrialRecord | None, dict[str, list[Span]]]:
    for trial in view.run.used:
        file: Path = view.run.trial_path(trial["block"], topology) / EXEMPLARS
        if trial["topology"] != topology or not file.is_file():
            continue
        read = read_sources([str(file)])
        if not read.refused:  # the report is still useful without this trace
            return trial, read.traces
    return None, {}


def _merge(pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(pieces):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _bar(start: int, end: int, total: int) -> tuple[str, str]:
    left = 100 * start / total
    width = max(_MIN_PERCENT, 100 * (end - start) / total)
    return f"{min(left, 100 - _MIN_PERCENT):.2f}".rstrip("0").rstrip("."), f"{width:.2f}".rstrip("0").rstrip(".")
