"""Spans of one trace to one tree, by small adjusters in a stated order.

What a trace lacks is repaired just far enough to be walked, and counted: a repaired trace never looks like a sound one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from operator import attrgetter

import msgspec

from hops.traces.span import CLIENT, CONSUMER, SERVER, Span

SHOP_JOURNEY, LOAD_JOURNEY, LOAD_CHANNEL = "shop.journey", "load.journey", "load.channel"
"""Attributes of the generator's roots: of a journey through the shop, and through any other system."""

LINK_UP_SPAN, LINK_DOWN_SPAN = "link_up", "link_down"
"""Spans below a CLIENT span that say what an emulated network took of the call: from the request's first byte to its
last at the far end, and the answer's last byte on its way back."""
_REACHED_NOBODY = frozenset({"UF", "UO"})
"""Envoy's response flags for a try whose connection failed, and for one beyond its limit of requests under way."""


class Node(msgspec.Struct, eq=False):
    """A span in its place in the tree, with the interval that the path may use.

    Args:
        span: The span as reported.
        start_ns: Unix time, ns, clipped to the parent.
        end_ns: Unix time, ns, clipped likewise.
        began_ns: Start as the path looks at it: not before the parent's, but also after the parent's end; of what
            carries out a call over an emulated network, not before the request had come whole.
        ended_ns: The time at which the parent could take the span for finished: its reported end; of a try that was
            given up, the start of the next; of what carries out a call over an emulated network, when the answer had
            left whole.
        children: Spans below it. None knows its parent: trees without rings are freed at once, and need no collector.
        is_try: Whether the CLIENT span above is a call that this span carries out; then it is waited for until that
            CLIENT ends. Also of a span right below an event's root, which is waited for until the next one takes over,
            and of what ended last of a message.
        callee: Service that answered a CLIENT span; None for other spans, and if no SERVER span is below.
        unconnected: Whether the span is a proxy's try that reached nobody, by Envoy's own account.
        part: Part that the span's own time belongs to, where it follows other conventions than the shop's.
        is_outer: Whether a CLIENT span below makes the call that this one is of, which is then one call.
    """

    span: Span
    start_ns: int
    end_ns: int
    began_ns: int
    ended_ns: int
    children: list[Node] = []
    is_try: bool = False
    callee: str | None = None
    unconnected: bool = False
    part: str = ""
    is_outer: bool = False


class Quality(msgspec.Struct):
    """How sound traces were; adds up over traces.

    Args:
        traces: Traces looked at.
        spans: Spans in them, duplicates not counted.
        duplicates: Spans reported more than once.
        orphans: Spans whose parent was never reported; they hang below the root instead.
        missing_servers: CLIENT spans that no SERVER span answers, though one should: not of a database, not `given_up`,
            and not `unconnected`.
        given_up: Calls that a proxy gave up before anything answered; the callee's span is late, or there is none.
        two_roots: Traces with more than one root; the budget is of the chosen one.
        skewed: Spans that begin before their parent, which one clock cannot do; clipped.
        outlived: Spans that end after their parent (asynchronous, or closed late); clipped.
        empty: Traces without any root, hence without a budget.
        rings: Of the orphans, those that are their own ancestors.
        backwards: Of the skewed, those that end before they begin.
        followers: Spans that follow another one, which does not wait for them.
        unfinished: Spans without an end, or without times; they last as long as what is below them.
        misdated: Spans with times that cannot be.
        left_out: Traces without a budget, since the times of their root are unknown.
        joined: SERVER spans that answered a call that they do not hang below.
        shared: Calls that waited for what answered another call.
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
    rings: int = 0
    backwards: int = 0
    followers: int = 0
    unfinished: int = 0
    misdated: int = 0
    left_out: int = 0
    joined: int = 0
    shared: int = 0

    def add(self, other: Quality) -> None:
        """Adds the counts of other traces to these."""
        self.traces += other.traces
        self.spans += other.spans
        self.duplicates += other.duplicates
        self.orphans += other.orphans
        self.missing_servers += other.missing_servers
        self.given_up += other.given_up
        self.two_roots += other.two_roots
        self.skewed += other.skewed
        self.outlived += other.outlived
        self.empty += other.empty
        self.rings += other.rings
        self.backwards += other.backwards
        self.followers += other.followers
        self.unfinished += other.unfinished
        self.misdated += other.misdated
        self.left_out += other.left_out
        self.joined += other.joined
        self.shared += other.shared

    @property
    def complete(self) -> bool:
        """Whether nothing hints at spans that have not arrived (yet)."""
        lost = self.orphans or self.missing_servers or self.given_up or self.empty
        return not (lost or self.unfinished or self.left_out)


class Tree(msgspec.Struct, eq=False):
    """One trace, ready to be walked.

    Args:
        nodes: Every span once, by id.
        by_id: The same nodes, by the ids of their spans.
        quality: What had to be repaired.
        root: The journey; none if no span is without a parent.
        extra_roots: Further spans without a parent, and spans that follow another; their subtrees are off the path.
        calls: Nodes with a child that carries out a call.
        undated: Ids of spans whose times are unknown, and of which nothing below tells any.
        open_calls: Of a system that is not the shop's, calls that no span right below them answers or makes.
        relays: Likewise, nodes that answer a call and may make one themselves.
        shared: Likewise, calls that waited for the answer of another call, each with that call and with its request.
    """

    nodes: list[Node]
    by_id: dict[str, Node]
    quality: Quality
    root: Node | None = None
    extra_roots: list[Node] = []
    calls: list[Node] = []
    undated: set[str] = set()
    open_calls: list[Node] = []
    relays: list[Node] = []
    shared: list[tuple[Node, Node, Node]] = []

    @property
    def is_of_load(self) -> bool:
        """Whether `hopwise load` began the trace, of a system that is not the shop."""
        return self.root is not None and LOAD_JOURNEY in self.root.span.attributes


def grow(spans: Iterable[Span], adjusters: Iterable[Callable[[Tree], None]] | None = None) -> Tree:
    """Builds the tree of one trace.

    Args:
        spans: Spans of one trace, in any order.
        adjusters: What is done to the tree, in order; `ADJUSTERS` if not given.

    Returns:
        The tree, its children clipped to their parents, each node's children by their end, last first; the same
        whatever the order of the spans.
    """
    tree = _deduplicated(list(spans))
    for adjust in ADJUSTERS if adjusters is None else adjusters:
        adjust(tree)
    return tree


def _deduplicated(spans: list[Span]) -> Tree:
    """Keeps one span per id, and puts the spans into the order of their ids.

    Exporters send a batch again when its acknowledgement was lost. Where two spans of one id differ, the one that ends
    last is kept, since a span that was reported while it ran is reported again when it has ended; then the one that
    starts first; then the one whose other fields come last in the alphabet, so that it is always the same one. All
    later sorting is stable, hence the order of arrival decides nothing.
    """
    by_id = _by_id(spans)
    if duplicates := len(spans) - len(by_id):
        by_id = _by_id(sorted(spans, key=precedence))
    quality = Quality(traces=1, spans=len(by_id), duplicates=duplicates)
    return Tree([by_id[span_id] for span_id in sorted(by_id)], by_id, quality)


def precedence(span: Span) -> tuple[int, int, str, str, str, str, str, tuple[tuple[str, str], ...]]:
    """Sorts spans of one id so that the one to keep comes last, whatever the order of their arrival."""
    attributes = repr(sorted(span.attributes.items()))
    return span.end_ns, -span.start_ns, span.parent_id, span.name, span.kind, span.service, attributes, span.links


def _by_id(spans: Iterable[Span]) -> dict[str, Node]:
    return {span.span_id: Node(span, start := span.start_ns, end := span.end_ns, start, end) for span in spans}


def order_intervals(tree: Tree) -> None:
    """Makes a span that ends before it starts a moment: its clock was set back while it ran."""
    for node in tree.nodes:
        if node.end_ns < node.start_ns:
            node.end_ns = node.ended_ns = node.start_ns
            tree.quality.skewed += 1
            tree.quality.backwards += 1


def link_parents(tree: Tree) -> None:
    """Hangs every span below its parent, and below the root when its parent was never reported.

    A parent found by guessing (the shortest span that encloses it, say) could put time on the wrong component. Below
    the root an orphan is a sibling of the request that it belongs to, and mostly in its shadow: it gets the time that
    nothing which ended later covers, often none, and what it did stays with the spans above the gap, as
    `unattributed` where its caller's CLIENT span lost its SERVER span. The count tells that the place is unknown.
    """
    by_id = tree.by_id
    roots: list[Node] = []
    orphans: list[Node] = []
    for node in tree.nodes:
        parent_id = node.span.parent_id
        if not parent_id:
            roots.append(node)
            continue
        parent = by_id.get(parent_id)
        if parent is None or parent is node:
            orphans.append(node)
            tree.quality.rings += parent is node
        else:
            parent.children.append(node)
    _choose_root(tree, roots)
    if orphans:
        tree.quality.orphans += len(orphans)
        if tree.root is not None:
            tree.root.children = sorted(tree.root.children + orphans, key=_span_id)


def _choose_root(tree: Tree, roots: list[Node]) -> None:
    """Picks the journey among the spans without a parent: the generator's, else the longest."""
    if not roots:
        tree.quality.empty += 1
        return
    if len(roots) > 1:
        roots.sort(
            key=lambda node: (
                node.span.attributes.keys().isdisjoint((SHOP_JOURNEY, LOAD_JOURNEY)),
                node.start_ns - node.end_ns,
                node.start_ns,
                node.span.span_id,
            )
        )
        tree.quality.two_roots += 1
    tree.root, tree.extra_roots = roots[0], roots[1:]


def find_callees(tree: Tree) -> None:
    """Names the component behind each CLIENT span, marks what carried the call out, and counts hops without a callee.

    That is its SERVER, or, with client libraries that open a span for the call and one for each try, such a span and
    the SERVER below it. A call waits for its callee and nothing else, so that a callee which closes its span late, or
    hangs, was waited for until the CLIENT ended. Of several tries that were still running then each was given up when
    the next began, and only the last one held the call until its end.

    Where no SERVER span is, the callee is not instrumented, its span was lost, or it was never reached. A proxy's span
    says so itself when it could not connect, or stopped waiting because its own caller had.
    """
    calls = tree.calls
    for node in tree.nodes:
        if node.span.kind is not CLIENT:
            continue
        children = node.children
        if not children:
            _note_unanswered(node, tree.quality)
            continue
        # Mostly there is just one: nothing has to be sought then.
        servers = children if len(children) == 1 and children[0].span.kind is SERVER else _servers(node)
        if len(servers) == 1:
            answer = servers[0]
            answer.is_try = True
            node.callee = answer.span.service
            calls.append(node)
        elif servers:
            settle_tries(node, servers, servers)
            calls.append(node)
        elif tries := [one for one in children if one.span.service == node.span.service and _servers(one)]:
            settle_tries(node, tries, [server for one in tries for server in _servers(one)])
            calls += (node, *tries)
        else:
            _note_unanswered(node, tree.quality)


def _note_unanswered(call: Node, quality: Quality) -> None:
    attributes = call.span.attributes
    if is_database(call.span):
        return
    if not _REACHED_NOBODY.isdisjoint(str(attributes.get("response_flags", "")).split(",")):
        call.unconnected = True
    elif attributes.get("canceled") == "true":
        quality.given_up += 1
    else:
        quality.missing_servers += 1


def settle_tries(call: Node, tries: list[Node], answers: list[Node]) -> None:
    """Finds which SERVER answered a call that has several tries or answers, and until when each try was waited for."""
    for one in (*tries, *answers):
        one.is_try = True
    starts = sorted({one.start_ns for one in tries})
    for one in tries:
        following = bisect_right(starts, one.start_ns)
        if one.span.end_ns > call.span.end_ns and following < len(starts):
            one.end_ns = one.ended_ns = starts[following]
    last = max(tries, key=_last)
    answer = last if last.span.kind is SERVER else max(_servers(last), key=_last)
    call.callee = answer.span.service


def hand_events_over(tree: Tree) -> None:
    """Marks the steps of an event's way, which its root is made of: a CONSUMER span, of who waited for the event.

    Each step hands the event over to the next and ends a little later, when it knows that this is done.
    """
    if tree.root is not None and tree.root.span.kind is CONSUMER:
        for step in tree.root.children:
            step.is_try = True


def leave_time_to_links(tree: Tree) -> None:
    """Keeps what carries out a call off the time that the call's emulated network took.

    A proxy's SERVER span begins with the request's headers, when the body may still be on its way to it, and ends a
    little after the answer's last byte. The path goes through the link meanwhile, whose times are exact.
    """
    for call in tree.calls:
        for link in call.children:
            name = link.span.name
            if name == LINK_UP_SPAN:
                for one in call.children:
                    if one.is_try:
                        one.began_ns = max(one.began_ns, link.end_ns)
            elif name == LINK_DOWN_SPAN:
                for one in call.children:
                    if one.is_try:
                        one.ended_ns = min(one.ended_ns, link.start_ns)


def clip_children(tree: Tree) -> None:
    """Cuts every child to its parent, top down, and counts the two causes apart.

    Without this a callee on a fast clock, or work that goes on after the answer, would put more time into the budget
    than the customer waited.
    """
    skewed = outlived = 0
    stack = [tree.root, *tree.extra_roots] if tree.root is not None else []
    reached = len(stack)
    while stack:
        node = stack.pop()
        children = node.children
        reached += len(children)
        low, high, began = node.start_ns, node.end_ns, node.began_ns
        raw_low, raw_high = node.span.start_ns, node.span.end_ns
        for child in children:
            if child.children:
                stack.append(child)
            start, end, raw_end = child.start_ns, child.end_ns, child.span.end_ns
            if low <= start >= raw_low and end <= high and raw_end <= raw_high and began <= child.began_ns:
                continue
            # Compared as reported, so that one skewed span does not count again for all spans below it.
            if start < raw_low:
                skewed += 1
            elif raw_end > raw_high:
                outlived += 1
            if child.began_ns < began:
                child.began_ns = began
            child.start_ns = min(max(start, low), high)
            child.end_ns = max(min(end, high), low)
    tree.quality.skewed += skewed
    tree.quality.outlived += outlived
    # Spans that are each other's ancestors hang below nothing: as lost to the tree as any orphan.
    if tree.root is not None:
        tree.quality.orphans += len(tree.nodes) - reached
        tree.quality.rings += len(tree.nodes) - reached


def sort_children(tree: Tree) -> None:
    """Orders siblings by their end, last first, for the walk backwards; the longer first when equal, then by id."""
    for node in tree.nodes:
        if len(node.children) > 1:
            node.children.sort(key=_began)
            node.children.sort(key=_ended, reverse=True)


ADJUSTERS: tuple[Callable[[Tree], None], ...] = (
    order_intervals,
    link_parents,
    find_callees,
    hand_events_over,
    leave_time_to_links,
    clip_children,
    sort_children,
)


def is_missing(call: Node) -> bool:
    """Whether a call without a SERVER span counts as missing its answer; see `Quality.missing_servers`."""
    return not (is_database(call.span) or call.unconnected or call.span.attributes.get("canceled") == "true")


def is_database(span: Span) -> bool:
    """Whether a CLIENT span is a database's, which leaves no SERVER span of its own."""
    attributes = span.attributes
    return "db.system.name" in attributes or "db.system" in attributes


def _servers(node: Node) -> list[Node]:
    return [child for child in node.children if child.span.kind is SERVER]


def _last(node: Node) -> tuple[int, int, str]:
    return node.ended_ns, node.start_ns, node.span.span_id


_span_id = attrgetter("span.span_id")
_began = attrgetter("began_ns")
_ended = attrgetter("ended_ns")
