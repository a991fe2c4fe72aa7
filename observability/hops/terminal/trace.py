"""One trace as a tree on a terminal, with the time that each span spends on the critical path."""

from __future__ import annotations

import sys

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.text import Text
from rich.tree import Tree as RichTree

from hops.budget.parts import part_of
from hops.conclusions.wording import not_drawn
from hops.errors import NotEnoughDataError
from hops.traces.shown import pieces_on_path, shown_spans
from hops.traces.tree import Node, Tree

_DEEPEST = 40
"""Maximum level of indentation: a terminal has no room for more."""
_MAX_LINE = 1_000


class Uncut:
    """Lines with times at their ends: printed with `soft_wrap`, they are not cut off."""

    def __init__(self, *parts: RichTree | Text) -> None:
        self._group = Group(*parts)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draws the lines at their full width."""
        return console.render(self._group, options.update(width=_MAX_LINE))


def trace_tree(tree: Tree, most: int = sys.maxsize) -> Uncut:
    """Draws one trace: spans ordered by start, each with its duration, its time on the critical path, and its part.

    Args:
        most: Maximum number of spans to draw; spans on the critical path come first.

    Raises:
        NotEnoughDataError: The trace has no root.
    """
    root = tree.root
    if root is None:
        raise NotEnoughDataError("the trace has no root span: it has not arrived, or the journey was never sampled")
    pieces = pieces_on_path(root)
    on_path = {span_id: sum(end - start for start, end in own) for span_id, own in pieces.items()}
    shown, left_out = shown_spans(root, pieces, most)
    drawn = RichTree(_label(root, on_path), highlight=False)
    above = [(0, drawn)]
    for depth, node in shown[1:]:
        while above[-1][0] >= depth or len(above) > _DEEPEST:
            above.pop()
        above.append((depth, above[-1][1].add(_label(node, on_path))))
    note = [Text(not_drawn(left_out))] if left_out else []
    return Uncut(drawn, *note)


def _label(node: Node, on_path: dict[str, int]) -> Text:
    span = node.span
    own = on_path.get(span.span_id, 0)
    where = f", {own / 1e6:.3f} on the path as {part_of(node)}" if own else ""
    length = (span.end_ns - span.start_ns) / 1e6
    return Text(f"{span.service} {span.name} [{span.kind.value}] {length:.3f} ms{where}")
