"""Evidence from the traces of a target other than the shop; its tracers do not count lost spans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from hops.budget.parts import GENERATOR
from hops.traces.peers import peer_of
from hops.traces.proxies import answered_itself
from hops.traces.span import CLIENT, Span
from hops.traces.tree import Node, Tree, is_database, is_missing
from hops.units import NS_PER_MS

USUALLY = 0.5
"""A kind of call is usually answered if at least this share of its calls is answered. The peer is part of the kind,
because many HTTP clients name all their spans `GET`, also those of requests to systems that leave no spans."""
LONGER_NS = 2 * NS_PER_MS
"""A SERVER span this much longer than its request continues after the answer, or belongs to another request.
Some tracers' clocks have a resolution of milliseconds."""


@dataclass(frozen=True, slots=True)
class TargetTraces:
    """Counts over the traces that a load requested. Clocks are not compared.

    Attributes:
        found: Traces with a span of the target.
        calls: Calls of a kind that is usually answered, except calls that reached nobody or were given up.
        unanswered: Of these, calls that no span answers.
        requests: Requests of the generator that a SERVER span answers.
        longer: Of these, requests whose SERVER span lasted longer.
    """

    found: int
    calls: int
    unanswered: int
    requests: int
    longer: int


def look_at(trees: Iterable[Tree]) -> TargetTraces:
    """Counts missing answers in traces of a target, from the trees that `hops.budget.any_system.tree_of` built."""
    answered: Counter[tuple[str, str, str]] = Counter()
    asked: Counter[tuple[str, str, str]] = Counter()
    with_target = requests = longer = 0
    for tree in trees:
        with_target += any(node.span.service != GENERATOR for node in tree.nodes)
        for node in tree.nodes:
            span = node.span
            if span.kind is not CLIENT or is_database(span):
                continue
            if node.callee is None and (answered_itself(span) or not is_missing(node)):
                continue
            kind = span.service, span.name, _named_peer(span)
            asked[kind] += 1
            answered[kind] += node.callee is not None
            if span.service == GENERATOR and (server := _answer(node)) is not None:
                requests += 1
                longer += _length_ns(server) > _length_ns(node) + LONGER_NS
    usual = [kind for kind, count in asked.items() if answered[kind] >= USUALLY * count]
    return TargetTraces(
        found=with_target,
        calls=sum(asked[kind] for kind in usual),
        unanswered=sum(asked[kind] - answered[kind] for kind in usual),
        requests=requests,
        longer=longer,
    )


def _named_peer(span: Span) -> str:
    """Gives the peer that a call names; empty for an address, as the spans of one of many replicas may be lost."""
    peer = peer_of(span)
    return "" if ":" in peer or peer.replace(".", "").isdecimal() else peer


def _answer(call: Node) -> Node | None:
    return next((child for child in call.children if child.span.service == call.callee), None)


def _length_ns(node: Node) -> int:
    """Measures a span by its own clock, not clipped to its parent."""
    return node.span.end_ns - node.span.start_ns
