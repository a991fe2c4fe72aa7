"""Requests in flight that a gateway shares between calls: several calls, one request, one answer below one call.

The other calls waited for the same answer. A trace does not say so; the times show it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict

from msgspec.structs import replace

from hops.traces.peers import SUBGRAPHS, peer_of
from hops.traces.span import CLIENT, INTERNAL
from hops.traces.tree import Node, Quality, Tree, clip_children, is_missing, sort_children

MAX_LEVELS = 6
"""Maximum number of levels below a gateway's span at which its call is searched for."""
MAX_CANDIDATES = 8
"""Maximum number of answered calls considered for each call: those around its start, half of them before it."""
APART_PERCENT = 10
"""Maximum difference between the ends of two calls with one answer, in percent of the answered call's length."""
SHARED = "-shared"
"""Suffix of the id of an answer below a call that shares it."""


def find_shared(tree: Tree) -> None:
    """Finds unanswered calls that waited for the answer of another call.

    The other call has the same component, name and peer, and got its answer while the first waited. It began earlier or
    at about the same time, and both ended at about the same time. If several such calls had answers from different
    components, the answer stays unknown.
    """
    waiting = [node for node in tree.open_calls if _may_share(node)]
    if not waiting:
        return
    wanted = {(node.span.service, node.span.name) for node in waiting}
    answered: dict[tuple[str, str, str], list[tuple[Node, Node]]] = defaultdict(list)
    for node in tree.nodes:
        if (node.span.service, node.span.name) in wanted and (call := _answered_call(node)) is not None:
            answered[_request(node)].append((node, call))
    for calls in answered.values():
        calls.sort(key=lambda one: (one[0].start_ns, one[0].span.span_id))
    for node in waiting:
        calls = answered.get(_request(node), [])
        last = bisect_right(calls, node.start_ns, key=lambda one: one[0].start_ns)
        near = calls[max(0, last - MAX_CANDIDATES) : last + MAX_CANDIDATES]
        sharing = [one for one in near if _waited_with(node, *one)]
        if sharing and len({call.callee for _, call in sharing}) == 1:
            tree.shared.append((node, *sharing[-1]))
    for node, _, call in tree.shared:
        if node.span.kind is CLIENT:
            node.callee = call.callee
            tree.quality.missing_servers -= 1
        tree.quality.shared += 1


def lend_answers(tree: Tree) -> None:
    """Copies the answer of a shared request below the calls that waited for it, in a tree whose parts are named.

    The copied spans count as INTERNAL, because there was one request. The time that the copies cover is theirs; the
    rest of the call counts as wire.
    """
    room = len(tree.nodes)
    for node, shared, call in tree.shared:
        holder, source = node, shared
        holder.part = call.part
        # Spans that are each other's ancestors would lead back to the first.
        while (inner := _counterparts(holder, source)) is not None and inner[0] is not node:
            holder, source = inner
            holder.part = call.part
        copies = [_copy(child) for child in source.children if child.is_try or child.callee is not None]
        below = list(copies)
        lent = [holder, *copies]
        for one in below:
            one.children = [_copy(child) for child in one.children]
            below += one.children
            lent += one.children
            if len(lent) > room:
                return  # no more copies than the trace has spans
        room -= len(lent)
        others, holder.children = holder.children, copies
        clip_children(subtree := Tree(lent, {}, Quality(), holder))
        holder.children = [*others, *copies]
        sort_children(subtree)


def _may_share(node: Node) -> bool:
    if node.span.kind is CLIENT:
        return node.callee is None and is_missing(node)
    return _answered_call(node) is None


def is_asking(node: Node) -> bool:
    """Whether a span is a gateway's span around a call to a subgraph."""
    return node.span.kind is INTERNAL and not _NAMES.isdisjoint(node.span.attributes)


def _answered_call(node: Node) -> Node | None:
    """Finds the answered call at or below the span of a call or of a gateway; None without an answer."""
    if node.span.kind is not CLIENT and not is_asking(node):
        return None
    level = [node]
    for _ in range(MAX_LEVELS):
        below = []
        for one in level:
            if one.span.kind is CLIENT and any(child.is_try for child in one.children):
                return one
            below += [child for child in one.children if child.span.service == node.span.service]
        level = below
    return None


def _request(node: Node) -> tuple[str, str, str]:
    return node.span.service, node.span.name, peer_of(node.span)


def _waited_with(node: Node, shared: Node, call: Node) -> bool:
    answered_ns = min(max(child.end_ns for child in call.children if child.is_try), call.end_ns)
    if not node.start_ns < answered_ns <= node.end_ns:
        return False
    apart_ns = max(abs(node.end_ns - shared.end_ns), shared.start_ns - node.start_ns)
    return apart_ns * 100 <= APART_PERCENT * (shared.end_ns - shared.start_ns)


def _counterparts(holder: Node, source: Node) -> tuple[Node, Node] | None:
    """Finds, below both spans, the next pair of INTERNAL spans with the same name on the way to the shared request."""
    for child in holder.children:
        for other in source.children:
            if child.span.kind is other.span.kind is INTERNAL and child.span.name == other.span.name:
                return child, other
    return None


def _copy(node: Node) -> Node:
    span = replace(node.span, span_id=f"{node.span.span_id}{SHARED}", kind=INTERNAL)
    return replace(node, span=span, callee=None)


_NAMES = frozenset(SUBGRAPHS)
