"""Traces from their root's start to the end of their last span, including work that nobody waited for.

A root ends with its answer. Work that it handed on, to a queue or another thread, may continue long after that. To
reach its end, each span between the root and the last span is extended to the end of the last span. If one of them
began after the end of the span above, the wait in between gets a node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

from msgspec.structs import replace

from hops.traces.span import CONSUMER, PRODUCER, Span, follows
from hops.traces.tree import Node, Tree, clip_children

Adjuster = Callable[[Tree], None]


def to_the_end(adjusters: Iterable[Adjuster]) -> tuple[Adjuster, ...]:
    """Gives the adjusters for trees that reach the last span's end."""
    return tuple(
        one for adjuster in adjusters for one in ((reach_the_end,) if adjuster is clip_children else ()) + (adjuster,)
    )


def after_root_ns(tree: Tree) -> int:
    """Computes how much of a trace is after its root's end, ns."""
    root = tree.root
    if root is None or max(node.span.end_ns for node in tree.nodes) <= root.span.end_ns:
        return 0
    return max(0, _last(_parents(tree, root), root).span.end_ns - root.span.end_ns)


def reach_the_end(tree: Tree) -> None:
    """Extends the root, and each span between it and the last span, to the last span's end."""
    root = tree.root
    if root is None or root.span.end_ns < root.span.start_ns:
        return
    parents = _parents(tree, root)
    last = _last(parents, root)
    end_ns = last.span.end_ns
    if end_ns <= root.end_ns:
        return
    way = [last]
    passed = {last}
    while way[-1] is not root:
        above = parents[way[-1]]
        if above in passed or above not in parents:  # a span follows another below it, or a lost span
            while way[-1] not in tree.extra_roots:
                way.pop()
            above = root
        way.append(above)
        passed.add(above)
    last.end_ns = last.ended_ns = end_ns
    sender = root.span
    for parent, child in pairwise(reversed(way)):
        rest = [one for one in parent.children if one is not child]
        if len(rest) == len(parent.children):
            tree.extra_roots.remove(child)
        if parent.span.kind is not CONSUMER or parent.span.service != child.span.service:
            sender = parent.span
        if child.start_ns > parent.end_ns:
            child = waiting(sender, child, parent.end_ns, end_ns)
            tree.nodes.append(child)
        parent.children = [*rest, child]
        parent.span = replace(parent.span, end_ns=end_ns)
        parent.end_ns = parent.ended_ns = end_ns


def waiting(sender: Span, receiver: Node, since_ns: int, end_ns: int) -> Node:
    """Makes a node above `receiver` for handed-on work: its own time is the time until the receiver began."""
    span = receiver.span
    is_message = sender.kind is PRODUCER or span.kind is CONSUMER
    receiver.is_try |= receiver.end_ns == end_ns
    node = Node(
        replace(
            span, span_id=f"{span.span_id}-wait", name=f"wait for {span.service}", kind=CONSUMER, start_ns=since_ns,
            end_ns=end_ns, attributes={}, links=(),
        ),
        since_ns, end_ns, since_ns, end_ns, [receiver],
    )  # fmt: skip
    node.part = f"messaging:{sender.service}→{span.service}" if is_message else f"queue:{span.service}"
    return node


def _parents(tree: Tree, root: Node) -> dict[Node, Node]:
    """Finds the spans from which the end may be reached, parents first, each with its parent.

    A further root counts as a child of the root, unless it began before the root. A span that follows another counts as
    the other's child.
    """
    parents = {root: root}
    for extra in tree.extra_roots:
        if follows(extra.span) or extra.start_ns >= root.start_ns:
            parents[extra] = tree.by_id.get(extra.span.parent_id, root)
    order = list(parents)
    for node in order:
        parents |= dict.fromkeys(node.children, node)
        order += node.children
    return parents


def _last(nodes: Iterable[Node], root: Node) -> Node:
    return max(nodes, key=lambda node: (node.span.end_ns, node is root))
