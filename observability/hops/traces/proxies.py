"""Applications and their proxies: how much time each of the two took, if both leave spans.

A sidecar usually has the name of its application. The attributes that Envoy writes (`hops.traces.peers`) identify its
spans. While the tree grows, they belong to a separate component, so that an application and its proxy call each other
like any two components.
"""

from __future__ import annotations

from msgspec.structs import replace

from hops.traces.peers import PROXIES, cluster_of, is_inbound, is_proxy
from hops.traces.span import CLIENT, INTERNAL, SERVER, Span
from hops.traces.tree import Node, Tree, is_missing, settle_tries

APART = "\0proxy"
"""Suffix of a proxy's component while the tree grows. No name has such a character, as names are made printable."""
ANSWERED_ITSELF = frozenset({"DPE", "FI", "IH", "LH", "NC", "NR", "OM", "RL", "RLSE", "UAEX", "UF", "UH", "UO"})
"""Envoy's response flags for requests that the proxy answered without the application."""

OUTBOUND = ("outbound|", "outbound_.")
"""Prefixes of the clusters that Istio makes for other services."""


def separate_proxies(spans: list[Span]) -> list[Span]:
    """Moves the proxies' spans to separate components."""
    for span in spans:
        if (span.attributes or span.service in PROXIES) and is_proxy(span):
            return [replace(one, service=one.service + APART) if is_proxy(one) else one for one in spans]
    return spans


def is_apart(span: Span) -> bool:
    """Whether a span is a proxy's, while the tree grows."""
    return span.service.endswith(APART)


def reported_name(service: str) -> str:
    """Gives the name of a component as its spans report it."""
    return service.removesuffix(APART)


def take_requests_in(tree: Tree) -> None:
    """Turns a proxy's span for a request to its application into a SERVER span, but not the span that forwards it.

    Zipkin's tracer in Envoy writes CLIENT for both directions.
    """
    for node in tree.nodes:
        span = node.span
        if span.kind is CLIENT and is_apart(span) and is_inbound(span):
            above = tree.by_id.get(span.parent_id)
            if above is None or above.span.service != span.service or cluster_of(above.span) != cluster_of(span):
                node.span = replace(span, kind=SERVER)


def settle_relays(tree: Tree) -> None:
    """Finds the callee of spans that both answer a call and make a call, such as a proxy's only span for a request.

    The time of such a span outside the next span is the wire to it, as for any CLIENT span. But if the next span is of
    the same component, and neither reports that it is a proxy, the first span is that component's proxy.
    """
    for relay in tree.relays:
        answers = [child for child in relay.children if child.span.kind is SERVER]
        if answers and not _calls(relay):
            settle_tries(relay, answers, answers)
            if is_apart(relay.span) or any(answer.span.service != relay.span.service for answer in answers):
                tree.calls.append(relay)
            else:
                relay.callee, relay.part = None, f"proxy:{relay.span.service}"


def wait_for_applications(tree: Tree) -> None:
    """Marks the application's SERVER span right below its proxy's as waited for, however late it closes.

    A proxy is done with the last byte; the application may close its span after that. A component counts as a proxy if
    it reports so. Otherwise the application's span must be the only call of the proxy's span, take most of its time,
    and lie mostly within it.
    """
    for node in tree.nodes:
        span = node.span
        if span.kind is not SERVER or node.callee is not None or not node.children:
            continue
        answers = [child for child in node.children if child.span.kind is SERVER]
        if not answers:
            continue
        if is_apart(span):
            answers = [answer for answer in answers if answer.span.service != span.service]
        elif len(answers) > 1 or _calls(node) or not _fills(node, answers[0]):
            continue
        for answer in answers:
            answer.is_try = True


def name_proxies(tree: Tree) -> None:
    """Names the part for each proxy's own time, and gives proxies the names that their spans report.

    A proxy's own time is known only if the trace has the span to which the proxy forwarded the request. If an
    application leaves no spans, the span of the proxy in front is the only span of both, and its time is the
    application's work.
    """
    for node in tree.nodes:
        if node.callee is not None:
            node.callee = reported_name(node.callee)
        if is_apart(node.span):
            node.part = _part(node)
            if node.span.kind is CLIENT:
                tree.quality.missing_servers -= bool(node.part) and is_missing(node)
            elif not (node.part or node.children) and cluster_of(node.span).startswith(OUTBOUND):
                tree.relays.append(node)
    for node in tree.nodes:
        if is_apart(node.span):
            node.span = replace(node.span, service=reported_name(node.span.service))


def _part(node: Node) -> str:
    span, name = node.span, reported_name(node.span.service)
    if node.callee is not None:
        return ""
    if span.kind is INTERNAL:
        return f"proxy:{name}"
    if span.kind is CLIENT:
        if answered_itself(span):
            return f"proxy:{name}"
        return f"work:{name}" if is_inbound(span) else ""
    if span.kind is not SERVER:
        return ""
    cluster = cluster_of(span)
    for child in node.children:
        if child.span.service != span.service:
            if child.span.kind is SERVER:
                return f"proxy:{name}"
        elif child.span.kind is CLIENT and cluster_of(child.span) == cluster:
            return f"proxy:{name}"  # the span of the request as it was forwarded
    return f"proxy:{name}" if answered_itself(span) else ""


def answered_itself(span: Span) -> bool:
    return not ANSWERED_ITSELF.isdisjoint(str(span.attributes.get("response_flags", "")).split(","))


def _calls(node: Node) -> bool:
    return any(child.span.kind is CLIENT and child.span.service == node.span.service for child in node.children)


def _fills(node: Node, answer: Node) -> bool:
    """Whether an answer takes at least half of a span's time, and no more time than that after the span's end."""
    within = min(node.end_ns, answer.end_ns) - max(node.start_ns, answer.start_ns)
    return within * 2 >= node.end_ns - node.start_ns and answer.end_ns - node.end_ns <= within
