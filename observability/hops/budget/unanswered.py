"""Calls that no span answers: the part of each call, and whether the spans of its answer were lost.

A library's CLIENT span above the CLIENT span of its HTTP client is one call with one part. If either says that the
callee is a database, it is. Otherwise the attribute that identifies the callee best counts (`hops.traces.peers.PEERS`).
"""

from __future__ import annotations

from collections import defaultdict, deque

import msgspec

from hops.budget.parts import UNATTRIBUTED
from hops.traces.peers import PEERS, Services, is_inbound, is_proxy, ranked_peer_of
from hops.traces.span import CLIENT, INTERNAL, PRODUCER, Span
from hops.traces.tree import Node, Tree, is_missing

STORES = ("db.system.name", "db.system", "db.type")
CACHES = frozenset({"valkey", "redis", "memcached", "hazelcast", "infinispan", "couchbase-cache"})
_STORES = frozenset(STORES)
_STORE, _UNKNOWN = -1, len(PEERS)
_PASSED = frozenset({CLIENT, INTERNAL, PRODUCER})


class _Callee(msgspec.Struct, frozen=True, gc=False):
    """What a call's spans say about its callee; a lower rank is more certain."""

    rank: int
    part: str


_NOBODY = _Callee(_UNKNOWN, UNATTRIBUTED)


def name_unanswered(tree: Tree) -> None:
    """Names the parts of calls that no span answers, in a tree of any system but the shop's."""
    calls = [node for node in tree.nodes if node.span.kind is CLIENT and node.callee is None and not node.part]
    relays = [
        node for node in dict.fromkeys(tree.relays) if node.callee is None and not node.part and not node.children
    ]
    if not (calls or relays):
        return
    services: Services | None = None
    known: dict[Node, _Callee] = {}
    for node in (*relays, *calls):
        if store := store_part(node.span):
            known[node] = _Callee(_STORE, store)
            continue
        services = services or Services(one.span.service for one in tree.nodes)
        if node.span.kind is CLIENT:
            known[node] = _callee(node, services)
        else:
            _name_relay(tree, node, services)
    final = _as_one(tree, known)
    for node in calls:
        node.part = final[node].part
        if is_missing(node) and (node.is_outer or node.part != UNATTRIBUTED):
            tree.quality.missing_servers -= 1


def store_part(span: Span) -> str:
    """Gives the part of a span that names a database or a cache; empty for other spans."""
    if _STORES.isdisjoint(span.attributes):
        return ""
    store = next((str(span.attributes[name]).lower() for name in STORES if span.attributes.get(name)), "")
    return store and f"{'cache' if store in CACHES else 'db'}:{span.service}"


def _callee(call: Node, services: Services) -> _Callee:
    span = call.span
    if call.unconnected:
        return _Callee(_UNKNOWN, f"proxy:{span.service}") if is_proxy(span) else _NOBODY
    rank, peer = ranked_peer_of(span)
    if not peer or span.attributes.get("canceled") == "true":
        return _NOBODY
    # If the callee has other spans in the trace, the spans of its answer were lost.
    return _Callee(rank, UNATTRIBUTED if services.named_by(peer) else f"external:{span.service}→{peer}")


def _name_relay(tree: Tree, node: Node, services: Services) -> None:
    """Names the part of a span that answers a call, has nothing below it, and may itself be a call.

    It is a call if it names a peer other than its own component; then it is a proxy's only span of an outgoing call.
    """
    peer = ranked_peer_of(node.span)[1]
    callee = services.named_by(peer)
    if not peer or callee == node.span.service or is_inbound(node.span):
        return
    if not callee:
        node.part = f"external:{node.span.service}→{peer}"
    elif is_proxy(node.span):
        node.part = UNATTRIBUTED
        tree.quality.missing_servers += 1


def _as_one(tree: Tree, known: dict[Node, _Callee]) -> dict[Node, _Callee]:
    """Assigns to a library's call, and to the calls that it made, the callee with the best rank among them."""
    made_by = _outer_calls(tree, known)
    inner: dict[Node, list[Node]] = defaultdict(list)
    for call, outer in made_by.items():
        inner[outer].append(call)
    final = dict(known)
    if not inner:
        return final
    order: list[Node] = []
    left = {outer: len(calls) for outer, calls in inner.items()}
    ready = deque(call for call in known if call not in inner)
    while ready:  # the innermost first; calls that are each other's ancestors are left alone
        call = ready.popleft()
        if call in inner:
            order.append(call)
            call.is_outer = True
            best = min(inner[call], key=lambda one: (final[one].rank, one.start_ns - one.end_ns, one.span.span_id))
            if final[best].rank <= known[call].rank:
                final[call] = final[best]
        above = made_by.get(call)
        if above is not None:
            left[above] -= 1
            if not left[above]:
                ready.append(above)
    original = dict(known)
    for outer in reversed(order):
        for call in inner[outer]:
            if original[outer].rank < original[call].rank:
                original[call] = final[call] = original[outer]
    return final


def _outer_calls(tree: Tree, known: dict[Node, _Callee]) -> dict[Node, Node]:
    """Finds the nearest unanswered call above each call, through spans of its component that are not requests to it."""
    above: dict[str, Node | None] = {}
    outers: dict[Node, Node] = {}
    for call in known:
        passed: list[str] = []
        span_id = call.span.parent_id
        outer: Node | None = None
        while span_id not in above:
            node = tree.by_id.get(span_id)
            if node is None or node.span.service != call.span.service or node.span.kind not in _PASSED:
                break
            if node.span.kind is CLIENT:
                outer = node if node in known else None
                break
            above[span_id] = None
            passed.append(span_id)
            span_id = node.span.parent_id
        else:
            outer = above[span_id]
        for one in passed:
            above[one] = outer
        if outer is not None and outer is not call:
            outers[call] = outer
    return outers
