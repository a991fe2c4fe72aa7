"""Builds one tree from the spans of one trace, by small adjusters in a stated order.

Defects of a trace are repaired just enough for the walk, and counted, so a repaired trace never looks like a sound one.
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
"""Spans below a CLIENT span, for the part of the call that an emulated network took. `up` lasts from sending the
request's first byte to the arrival of its last; `down` lasts while the answer's last byte travels back."""
_REACHED_NOBODY = frozenset({"UF", "UO"})
"""Envoy's response flags for a try whose connection failed, and for a try above the limit of concurrent requests."""
_EXPIRED = "Deadline Exceeded"
"""The message, in the attribute `grpc.message` of Envoy's spans, with which gRPC's core ends a call at its deadline."""


class Node(msgspec.Struct, eq=False):
    """A span in its place in the tree, with the interval that the path may use.

    Args:
        start_ns: Unix time, ns, clipped to the parent.
        end_ns: Unix time, ns, clipped likewise.
        began_ns: Start for the path. It is not before the parent's start, but may be after the parent's end. For a span
            that carries out a call over an emulated network, it is not before the whole request had arrived.
        ended_ns: When the parent could treat the span as finished: its reported end. For a try that was given up, it is
            the start of the next try. For a span that carries out a call over an emulated network, it is when the whole
            answer had left.
        children: Spans below it. No node has a reference to its parent, so that trees without rings are freed at once.
        is_try: Whether the CLIENT span above is a call that this span carries out; then it is waited for until that
            CLIENT ends. Also set for a span right below an event's root, which is waited for until the next step takes
            over, and for the span of a message that ended last.
        callee: Service that answered a CLIENT span; None for other spans, and without a SERVER span below.
        part: Part that the span's own time belongs to, if it does not follow the shop's conventions.
        enters: Whether an INTERNAL span enters its part, likewise.
        queue: Part of the wait for the component's event loop, likewise.
        is_outer: Whether a CLIENT span below makes the same call; both count as one call.
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
    enters: bool = False
    is_outer: bool = False
    queue: str = ""


class Quality(msgspec.Struct):
    """Counts of the defects of traces, which can be added up over traces.

    Args:
        spans: Spans in them, without duplicates.
        duplicates: Spans reported more than once.
        orphans: Spans whose parent was never reported; they hang below the root instead.
        missing_servers: CLIENT spans that lack the SERVER span of their answer. Calls to a database, `given_up` and
            `unconnected` calls do not count.
        given_up: A proxy's calls that ended before an answer; the callee's span is late or missing.
        two_roots: Traces with more than one root; the budget is that of the chosen root.
        skewed: Spans that begin before their parent, which is impossible on one clock; clipped.
        outlived: Spans that end after their parent (asynchronous, or closed late); clipped.
        empty: Traces without a root, and so without a budget.
        rings: Orphans that are their own ancestors.
        backwards: Skewed spans that end before they begin.
        followers: Spans that follow another span, which does not wait for them.
        unfinished: Spans without an end, or without times; they last as long as the spans below them.
        misdated: Spans with impossible times.
        left_out: Traces without a budget, because the times of their root are unknown.
        joined: SERVER spans that answered a call but do not hang below it.
        shared: Calls that waited for the answer of another call.
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
        """Adds the counts of other traces."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def complete(self) -> bool:
        """Whether nothing suggests that spans are still to arrive."""
        lost = self.orphans or self.missing_servers or self.given_up or self.empty
        return not (lost or self.unfinished or self.left_out)


class Tree(msgspec.Struct, eq=False):
    """One trace, ready for the walk.

    Args:
        nodes: Every span once, sorted by id.
        root: The journey; None if every span has a parent.
        extra_roots: Further spans without a parent, and spans that follow another; their subtrees are off the path.
        calls: Nodes with a child that carries out a call.
        undated: Ids of spans whose times are unknown, with no span below that has times.
        open_calls: In systems other than the shop, calls with neither an answer nor an inner call right below them.
        relays: Likewise, nodes that answer a call and may also make a call.
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
        """Whether `hopwise load` began the trace, in a system other than the shop."""
        return self.root is not None and LOAD_JOURNEY in self.root.span.attributes


def grow(spans: Iterable[Span], adjusters: Iterable[Callable[[Tree], None]] | None = None) -> Tree:
    """Builds the tree of one trace from its spans in any order, which makes no difference.

    Children are clipped to their parents, and sorted by their end, the last first.
    """
    tree = _deduplicate(list(spans))
    for adjust in ADJUSTERS if adjusters is None else adjusters:
        adjust(tree)
    return tree


def _deduplicate(spans: list[Span]) -> Tree:
    """Keeps one span per id, and sorts the spans by id.

    Exporters send a batch again if its acknowledgement was lost. If two spans with one id differ, the span that ends
    last is kept, because a span reported while it ran is reported again when it has ended. With equal ends, the span
    that starts first is kept; then the last by its other fields, so that it is always the same. All later sorting is
    stable, so the order of arrival decides nothing.
    """
    by_id = _by_id(spans)
    if duplicates := len(spans) - len(by_id):
        by_id = _by_id(sorted(spans, key=precedence))
    quality = Quality(traces=1, spans=len(by_id), duplicates=duplicates)
    return Tree([by_id[span_id] for span_id in sorted(by_id)], by_id, quality)


def precedence(span: Span) -> tuple[int, int, str, str, str, str, str, tuple[tuple[str, str], ...]]:
    """Returns a sort key for spans with one id: the span to keep comes last, in any order of arrival."""
    attributes = repr(sorted(span.attributes.items()))
    return span.end_ns, -span.start_ns, span.parent_id, span.name, span.kind, span.service, attributes, span.links


def _by_id(spans: Iterable[Span]) -> dict[str, Node]:
    return {span.span_id: Node(span, start := span.start_ns, end := span.end_ns, start, end) for span in spans}


def order_intervals(tree: Tree) -> None:
    """Turns a span that ends before it starts into a moment: its clock was set back while it ran."""
    for node in tree.nodes:
        if node.end_ns < node.start_ns:
            node.end_ns = node.ended_ns = node.start_ns
            tree.quality.skewed += 1
            tree.quality.backwards += 1


def link_parents(tree: Tree) -> None:
    """Hangs every span below its parent, or below the root if its parent was never reported.

    A guessed parent, such as the shortest enclosing span, could put time on the wrong component. Below the root, an
    orphan is a sibling of the request that it belongs to, and mostly in its shadow. It gets only the time that no
    later sibling covers, often no time at all. Its work stays with the spans above the gap, as `unattributed` if its
    caller's CLIENT span lost its SERVER span. The count shows that the place is unknown.
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
    """Picks the journey among the spans without a parent: the generator's span, else the longest."""
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

    A call is carried out by the SERVER span below it. With client libraries that open a span for the call and one for
    each try, it is carried out by the span of the try and the SERVER below that. A call waits only for its callee, so a
    callee that closes its span late, or hangs, was waited for until the CLIENT ended. Of several tries that were still
    running then, each was given up when the next began, and only the last try kept the call waiting until its end.

    Without a SERVER span, the callee is not instrumented, its span was lost, or it was never reached. A proxy's span
    reports that it could not connect, or that the call was given up (`is_given_up`).
    """
    calls = tree.calls
    for node in tree.nodes:
        if node.span.kind is not CLIENT:
            continue
        children = node.children
        if not children:
            _note_unanswered(node, tree.quality)
            continue
        # Mostly there is only one child, and nothing to search for.
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
    elif is_given_up(call.span):
        quality.given_up += 1
    else:
        quality.missing_servers += 1


def settle_tries(call: Node, tries: list[Node], answers: list[Node]) -> None:
    """Finds which SERVER answered a call with several tries or answers, and until when each try was waited for."""
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
    """Marks the steps of an event, below its root: a CONSUMER span of the customer who waited for the event.

    Each step hands the event over to the next, and ends a little later, when it has the confirmation.
    """
    if tree.root is not None and tree.root.span.kind is CONSUMER:
        for step in tree.root.children:
            step.is_try = True


def leave_time_to_links(tree: Tree) -> None:
    """Takes the time on a call's emulated network away from the span that carries out the call.

    A proxy's SERVER span begins with the request's headers, while the body may still be on its way, and ends a little
    after the answer's last byte. Meanwhile the path goes through the link, whose times are exact.
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
    """Clips every child to its parent, from the root down, and counts the two causes separately.

    Otherwise a callee on a fast clock, or work that continues after the answer, would put more time into the budget
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
    # Spans that are each other's ancestors hang below nothing: they count as orphans.
    if tree.root is not None:
        tree.quality.orphans += len(tree.nodes) - reached
        tree.quality.rings += len(tree.nodes) - reached


def sort_children(tree: Tree) -> None:
    """Orders siblings by their end, last first, for the backward walk; at equal ends, the longer first, then by id."""
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
    return not (is_database(call.span) or call.unconnected or is_given_up(call.span))


def is_given_up(span: Span) -> bool:
    """Whether a proxy's call ended before an answer: its caller left, or gRPC ended it at its deadline.

    The core of a gRPC server, which leaves no spans, ends calls whose deadline passes before the program accepts them.
    """
    return span.attributes.get("canceled") == "true" or span.attributes.get("grpc.message") == _EXPIRED


def is_database(span: Span) -> bool:
    """Whether a CLIENT span is a call to a database, which leaves no SERVER span."""
    attributes = span.attributes
    return "db.system.name" in attributes or "db.system" in attributes


def _servers(node: Node) -> list[Node]:
    return [child for child in node.children if child.span.kind is SERVER]


def _last(node: Node) -> tuple[int, int, str]:
    return node.ended_ns, node.start_ns, node.span.span_id


_span_id = attrgetter("span.span_id")
_began = attrgetter("began_ns")
_ended = attrgetter("ended_ns")
