"""Selects which spans of a trace are shown if there is no room for all."""

from __future__ import annotations

from collections import defaultdict

from hops.traces.critical_path import walk
from hops.traces.tree import Node

MAX_SPANS = 80
"""Maximum number of spans shown. A naive plan may have hundreds, other systems a hundred thousand. A checkout through
sidecars has about 60 on its path alone."""


def pieces_on_path(root: Node) -> dict[str, list[tuple[int, int]]]:
    """Lists the pieces of the critical path by the id of their span: start and end, ns after the root's start."""
    on_path: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for node, start_ns, end_ns in walk(root):
        on_path[node.span.span_id].append((start_ns - root.start_ns, end_ns - root.start_ns))
    return on_path


def shown_spans(
    root: Node, on_path: dict[str, list[tuple[int, int]]], most: int = MAX_SPANS
) -> tuple[list[tuple[int, Node]], int]:
    """Selects the spans with the most time on the path, then the longest, in the order of the tree.

    Returns each span with its depth among the selected spans, from 0, and the number of spans left out.
    """
    ordered: list[tuple[int, Node]] = []
    stack = [(0, root)]
    while stack:
        depth, node = stack.pop()
        ordered.append((depth, node))
        stack += [
            (depth + 1, child)
            for child in sorted(node.children, key=lambda one: (one.start_ns, one.end_ns), reverse=True)
        ]
    if len(ordered) <= most:
        return ordered, 0
    weight = {
        id(node): (sum(end - start for start, end in on_path.get(node.span.span_id, [])), node.end_ns - node.start_ns)
        for _, node in ordered
    }
    kept = {id(node) for _, node in sorted(ordered, key=lambda one: weight[id(one[1])], reverse=True)[:most]}
    kept.add(id(root))
    shown: list[tuple[int, Node]] = []
    above: list[int] = []
    for depth, node in ordered:
        while above and above[-1] >= depth:
            above.pop()
        if id(node) in kept:
            shown.append((len(above), node))
            above.append(depth)
    return shown, len(ordered) - len(shown)
