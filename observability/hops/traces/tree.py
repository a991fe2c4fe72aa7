"""Spans of one trace to one tree, by small adjusters in a stated order.

What a trace lacks is repaired just far enough to be walked, and counted: a repaired trace never looks like a sound one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from operator import attrgetter

from hops.traces.span import CLIENT, SERVER, Span

#: Envoy's response flag for a try whose connection failed.
_CONNECTION_FAILURE = "UF"


class Node:
    """A span in its place in the tree, with the interval that the path may use.

    Args:
        span: as reported.

    Attributes:
        start_ns: Unix time, ns, clipped to the parent.
        end_ns: the same.
        began_ns: start as the path looks at it: not before the parent's, but also after the parent's end.
        ended_ns: when the parent could take the span for finished: its reported end; of a try that was given up, the
            start of the next.
        is_try: whether the CLIENT span above is a call that this span carries out; then it is waited for until that
            CLIENT ends.
        callee: service that answered a CLIENT span; None for other spans, and if no SERVER span is below.
        unconnected: whether the span is a proxy's try to connect that failed, by Envoy's own account.
    """

    __slots__ = (
        "began_ns",
        "callee",
        "children",
        "end_ns",
        "ended_ns",
        "is_try",
        "parent",
        "span",
        "start_ns",
        "unconnected",
    )

    def __init__(self, span: Span) -> None:
        self.span = span
        self.start_ns = self.began_ns = span.start_ns
        self.end_ns = self.ended_ns = span.end_ns
        self.is_try = False
        self.callee: str | None = None
        self.unconnected = False
        self.parent: Node | None = None
        self.children: list[Node] = []


@dataclass(slots=True)
class Quality:
    """How sound traces were; adds up over traces.

    Args:
        traces: traces looked at.
        spans: spans in them, duplicates not counted.
        duplicates: spans reported more than once.
        orphans: spans whose parent was never reported; they hang below the root instead.
        missing_servers: CLIENT spans that no SERVER span answers, though one should: not of a database, not `given_up`,
            and not `unconnected`.
        given_up: calls that a proxy gave up before anything answered; the callee's span is late, or there is none.
        two_roots: traces with more than one root; the budget is of the chosen one.
        skewed: spans that begin before their parent, which one clock cannot do; clipped.
        outlived: spans that end after their parent (asynchronous, or closed late); clipped.
        empty: traces without any root, hence without a budget.
    """

    traces: int = 0
    spans: int = 0
    duplicates: int = 0
    orphans: int = 0
    missing_servers: int = 0
    given_up: int = 0
    two_roots: int = 0
    skewed: int = 0
    outlived: int = 0
    empty: int = 0

    def add(self, other: Quality) -> None:
        """Adds the counts of other traces to these."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))

    @property
    def complete(self) -> bool:
        """Whether nothing hints at spans that have not arrived (yet)."""
        return not (self.orphans or self.missing_servers or self.given_up or self.empty)


@dataclass(slots=True)
class Tree:
    """One trace, ready to be walked.

    Args:
        nodes: every span once.
        root: the journey; none if no span is without a parent.
        extra_roots: further spans without a parent; their subtrees stay off the path.
        quality: what had to be repaired.
    """

    nodes: list[Node]
    root: Node | None = None
    extra_roots: list[Node] = field(default_factory=list)
    quality: Quality = field(default_factory=lambda: Quality(traces=1))


def grow(spans: Iterable[Span]) -> Tree:
    """Builds the tree of one trace.

    Args:
        spans: of one trace, in any order.

    Returns:
        The tree, its children clipped to their parents, each node's children by their end, last first; the same
        whatever the order of the spans.
    """
    tree = Tree([Node(span) for span in spans])
    for adjust in ADJUSTERS:
        adjust(tree)
    return tree


def deduplicate(tree: Tree) -> None:
    """Keeps one span per id, and puts the spans into the order of their ids.

    Exporters send a batch again when its acknowledgement was lost. Where two spans of one id differ, the one that ends
    last is kept, since a span that was reported while it ran is reported again when it has ended; then the one that
    starts first; then the one whose other fields come last in the alphabet, so that it is always the same one. All
    later sorting is stable, hence the order of arrival decides nothing.
    """
    by_id = {node.span.span_id: node for node in tree.nodes}
    if len(by_id) < len(tree.nodes):
        tree.quality.duplicates += len(tree.nodes) - len(by_id)
        by_id = {node.span.span_id: node for node in sorted(tree.nodes, key=_precedence)}
    tree.nodes = [by_id[span_id] for span_id in sorted(by_id)]
    tree.quality.spans += len(tree.nodes)


def order_intervals(tree: Tree) -> None:
    """Makes a span that ends before it starts a moment: its clock was set back while it ran."""
    for node in tree.nodes:
        if node.end_ns < node.start_ns:
            node.end_ns = node.ended_ns = node.start_ns
            tree.quality.skewed += 1


def choose_root(tree: Tree) -> None:
    """Picks the journey among the spans without a parent: the generator's, else the longest."""
    roots = [node for node in tree.nodes if not node.span.parent_id]
    if not roots:
        tree.quality.empty += 1
        return
    if len(roots) > 1:
        roots.sort(
            key=lambda node: (
                "shop.journey" not in node.span.attributes,
                node.start_ns - node.end_ns,
                node.start_ns,
                node.span.span_id,
            )
        )
        tree.quality.two_roots += 1
    tree.root, tree.extra_roots = roots[0], roots[1:]


def link_parents(tree: Tree) -> None:
    """Hangs every span below its parent, and below the root when its parent was never reported.

    A parent found by guessing (the shortest span that encloses it, say) could put time on the wrong component. Below
    the root an orphan is a sibling of the request that it belongs to, and mostly in its shadow: it gets the time that
    nothing which ended later covers, often none, and what it did stays with the spans above the gap, as
    `unattributed` where its caller's CLIENT span lost its SERVER span. The count tells that the place is unknown.
    """
    by_id = {node.span.span_id: node for node in tree.nodes}
    for node in tree.nodes:
        parent_id = node.span.parent_id
        if not parent_id:
            continue
        parent = by_id.get(parent_id)
        if parent is None or parent is node:
            tree.quality.orphans += 1
            parent = tree.root
        if parent is not None:
            node.parent = parent
            parent.children.append(node)


def find_callees(tree: Tree) -> None:
    """Names the component behind each CLIENT span, marks what carried the call out, and counts hops without a callee.

    That is its SERVER, or, with client libraries that open a span for the call and one for each try, such a span and
    the SERVER below it. A call waits for its callee and nothing else, so that a callee which closes its span late, or
    hangs, was waited for until the CLIENT ended. Of several tries that were still running then each was given up when
    the next began, and only the last one held the call until its end.

    Where no SERVER span is, the callee is not instrumented, its span was lost, or it was never reached. A proxy's span
    says so itself when it could not connect, or stopped waiting because its own caller had.
    """
    for node in tree.nodes:
        if node.span.kind is not CLIENT:
            continue
        servers = _servers(node)
        if servers:
            tries, answers = servers, servers
        else:
            tries = [one for one in node.children if one.span.service == node.span.service and _servers(one)]
            answers = [server for one in tries for server in _servers(one)]
        if not answers:
            if is_database(node.span):
                continue
            attributes = node.span.attributes
            if _CONNECTION_FAILURE in str(attributes.get("response_flags", "")).split(","):
                node.unconnected = True
            elif attributes.get("canceled") == "true":
                tree.quality.given_up += 1
            else:
                tree.quality.missing_servers += 1
            continue
        for one in tries if servers else (*tries, *answers):
            one.is_try = True
        if len(tries) > 1:
            starts = sorted({one.start_ns for one in tries})
            for one in tries:
                following = bisect_right(starts, one.start_ns)
                if one.span.end_ns > node.span.end_ns and following < len(starts):
                    one.end_ns = one.ended_ns = starts[following]
        node.callee = answers[0].span.service if len(answers) == 1 else max(answers, key=_last).span.service


def clip_children(tree: Tree) -> None:
    """Cuts every child to its parent, top down, and counts the two causes apart.

    Without this a callee on a fast clock, or work that goes on after the answer, would put more time into the budget
    than the customer waited.
    """
    reached = 0
    skewed = outlived = 0
    stack = [node for node in (tree.root, *tree.extra_roots) if node is not None]
    while stack:
        node = stack.pop()
        reached += 1
        children = node.children
        if not children:
            continue
        low, high, began = node.start_ns, node.end_ns, node.began_ns
        raw_low, raw_high = node.span.start_ns, node.span.end_ns
        for child in children:
            # Compared as reported, so that one skewed span does not count again for all spans below it.
            if child.span.start_ns < raw_low:
                skewed += 1
            elif child.span.end_ns > raw_high:
                outlived += 1
            if child.began_ns < began:
                child.began_ns = began
            if child.start_ns < low:
                child.start_ns = low
            elif child.start_ns > high:
                child.start_ns = high
            if child.end_ns > high:
                child.end_ns = high
            elif child.end_ns < low:
                child.end_ns = low
        stack += children
    tree.quality.skewed += skewed
    tree.quality.outlived += outlived
    # Spans that are each other's ancestors hang below nothing: as lost to the tree as any orphan.
    if tree.root is not None:
        tree.quality.orphans += len(tree.nodes) - reached


def sort_children(tree: Tree) -> None:
    """Orders siblings by their end, last first, for the walk backwards; the longer first when equal, then by id."""
    for node in tree.nodes:
        if len(node.children) > 1:
            node.children.sort(key=_began)
            node.children.sort(key=_ended, reverse=True)


ADJUSTERS: tuple[Callable[[Tree], None], ...] = (
    deduplicate,
    order_intervals,
    choose_root,
    link_parents,
    find_callees,
    clip_children,
    sort_children,
)


def is_database(span: Span) -> bool:
    """Whether a CLIENT span is a database's, which leaves no SERVER span of its own."""
    attributes = span.attributes
    return "db.system.name" in attributes or "db.system" in attributes


def _servers(node: Node) -> list[Node]:
    return [child for child in node.children if child.span.kind is SERVER]


def _last(node: Node) -> tuple[int, int, str]:
    return node.ended_ns, node.start_ns, node.span.span_id


def _precedence(node: Node) -> tuple[int, int, str, str, str, str, str]:
    span = node.span
    attributes = repr(sorted(span.attributes.items()))
    return span.end_ns, -span.start_ns, span.parent_id, span.name, span.kind, span.service, attributes


_began = attrgetter("began_ns")
_ended = attrgetter("ended_ns")
