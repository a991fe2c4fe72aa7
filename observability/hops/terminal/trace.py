"""One trace as a tree in the terminal, with the time that each span has on the critical path."""

from __future__ import annotations

from rich.text import Text
from rich.tree import Tree as RichTree

from hops.budget.parts import part_of
from hops.errors import NotEnoughDataError
from hops.traces.critical_path import walk
from hops.traces.tree import Node, Tree


def trace_tree(tree: Tree) -> RichTree:
    """Draws one trace: spans by start, each with its length, its time on the path, and its part.

    Args:
        tree: The trace's tree.

    Raises:
        NotEnoughDataError: The trace has no root.
    """
    root = tree.root
    if root is None:
        raise NotEnoughDataError("the trace has no root span: it has not arrived, or the journey was never sampled")
    on_path: dict[str, int] = {}
    for node, start_ns, end_ns in walk(root):
        on_path[node.span.span_id] = on_path.get(node.span.span_id, 0) + end_ns - start_ns
    drawn = RichTree(_label(root, on_path), highlight=False)
    stack = [(root, drawn)]
    while stack:
        node, branch = stack.pop()
        in_order = sorted(node.children, key=lambda one: (one.start_ns, one.end_ns))
        stack += [(child, branch.add(_label(child, on_path))) for child in in_order]
    return drawn


def _label(node: Node, on_path: dict[str, int]) -> Text:
    span = node.span
    own = on_path.get(span.span_id, 0)
    where = f", {own / 1e6:.3f} on the path as {part_of(node)}" if own else ""
    length = (span.end_ns - span.start_ns) / 1e6
    return Text(f"{span.service} {span.name} [{span.kind.value}] {length:.3f} ms{where}")
