"""Hop budgets: every nanosecond of a journey in exactly one part (docs/results/hop-budget.md lists the parts).

Parts come from a span's kind, component and name (`part_of`). Spans that fit no rule, and CLIENT spans that no SERVER
span answers, are `unattributed`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from operator import attrgetter

import msgspec

from hops.budget.call_paths import CallPaths
from hops.traces.critical_path import walk
from hops.traces.span import CLIENT, CONSUMER, INTERNAL, PRODUCER, SERVER, Kind, Span
from hops.traces.tree import LINK_DOWN_SPAN, LINK_UP_SPAN, Node, Quality, Tree, grow, is_database
from hops.units import NS_PER_MS

GENERATOR = "client"
EDGE = "edge"
EDGE_CACHE = "edge-cache"
EDGE_CACHE_STATUS = "shop.edge_cache"
"""Attribute of the SERVER spans of a shared cache in front of the edge: `hit`, `miss` or `pass`."""
HIT = "hit"
INBOUND, OUTBOUND = "-inbound", "-outbound"
"""Suffixes of a sidecar's spans, after its component's name: a sidecar is two proxies, one for each direction."""
POOL_SPAN = "pool.acquire"
START_LAG_SPAN = "start_lag"
HANDSHAKE_SPAN = "handshake"
WAITING_SPAN = "waiting"
THINK_SPAN = "think"
"""A customer's pause between two steps of `hopwise load`; it is not counted as latency."""
DELAY_TOOK = "shop.injected_delay_took_ms"
"""Attribute of the SERVER span of a request that was delayed on purpose: duration of the delay, ms."""

LOOP_BUSY, LOOP_RESTED = "shop.loop.busy_ms", "shop.loop.rested_ms"
"""Attributes of a SERVER span, for its start, and of a CLIENT span, for its end. They say how long the component's
event loop had been busy, and how long before that moment its busy time ended."""

CACHES = ("valkey", "redis")
"""Values of `db.system.name` that mean a cache."""

PROXY = "proxy:"
WORK = "work:"
HIT_PART = f"{HIT}:{EDGE_CACHE}"
CLIENT_PART = "client"
START_LAG_PART = "start_lag"
NETWORK_PART = "network"
HANDSHAKE_PART = "handshake"
WAITING_PART = "client:waiting"
OUTBOX = "outbox:"
PUSH_PART = "push"
UNATTRIBUTED = "unattributed"


class EdgeRequest(msgspec.Struct, frozen=True, gc=False):
    """One request as a trace shows it at the edge.

    Args:
        span_ids: Ids of the edge's SERVER span, of the CLIENT spans right below it, and of its parent. The edge's log
            names a request by one of them.
        ns: Length of the SERVER span, clipped to its CLIENT span.
        cut_ns: How much of the SERVER span was cut because it ended after its CLIENT span.
    """

    span_ids: tuple[str, ...]
    ns: int
    cut_ns: int


class Call(msgspec.Struct, frozen=True, gc=False):
    """One call from one component to another, through any number of sidecars.

    The caller's CLIENT span minus the callee's SERVER span is the time in between. Without sidecars, the call is then
    on one wire; with sidecars, it is on three wires and in two proxies.

    Args:
        between_ns: Length of the CLIENT span minus the length of the SERVER span of the answer.
        began_ns: Start of that SERVER span, Unix time.
        ahead_ns: How long before that the CLIENT span began; negative if it began later, on another clock.
        after_ns: How long after the SERVER span the CLIENT span ended.
        queued_ns: How much of `ahead_ns` the callee's event loop was busy with other work.
        injected_ns: How long the callee was delayed or held up on purpose.
    """

    caller: str
    callee: str
    between_ns: int
    began_ns: int = 0
    ahead_ns: int = 0
    after_ns: int = 0
    queued_ns: int = 0
    injected_ns: int = 0


class Budget(msgspec.Struct, frozen=True, gc=False):
    """How the end-to-end time of one journey is divided.

    Args:
        trace_id: 32 hex digits.
        journey: `shop.journey` of the root, else the root's name.
        channel: `shop.channel` of the root; empty if the root has no channel.
        parts: Nanoseconds on the critical path by part; they add up to `total_ns` exactly.
        crossings: How often the trace entered each part, on or off the path: spans of the part; for a component's work
            and for a proxy, only SERVER spans. So `wire:` counts the calls of a hop.
        on_path: How many of the spans in `crossings` have time on the path.
        inner_on_path: How many INTERNAL spans that do not enter the part have time on the path; only parts with any.
        injected_ns: How long the spans of each part were delayed on purpose, by their component's clock; only parts
            with a delay.
        after_ns: How much of the trace is after its root's end; known for traces of any system.
        paths: Nanoseconds on the critical path by call path (`hops.budget.call_paths`), if requested.
    """

    trace_id: str
    journey: str
    channel: str
    total_ns: int
    parts: Mapping[str, int]
    crossings: Mapping[str, int]
    quality: Quality
    on_path: Mapping[str, int] = msgspec.field(default_factory=dict)
    inner_on_path: Mapping[str, int] = msgspec.field(default_factory=dict)
    injected_ns: Mapping[str, int] = msgspec.field(default_factory=dict)
    edge_requests: tuple[EdgeRequest, ...] = ()
    calls: tuple[Call, ...] = ()
    after_ns: int = 0
    paths: Mapping[str, int] = msgspec.field(default_factory=dict)

    @property
    def gap_ns(self) -> int:
        """Difference between the total and the sum of the parts, ns: 0, or this code is wrong."""
        return abs(self.total_ns - sum(self.parts.values()))


def budget_of_tree(tree: Tree, *, with_calls: bool = True, with_paths: bool = False) -> Budget | None:
    """Makes the budget of one trace; None if no span is a root."""
    root = tree.root
    if root is None:
        return None
    parts: dict[str, int] = {}
    walked: dict[Node, str] = {}
    queues: dict[Node, list[tuple[str, int, int]]] = {}
    paths = CallPaths(part_of) if with_paths else None
    for node, start_ns, end_ns in walk(root, above=None if paths is None else paths.above):
        part = walked.get(node)
        if part is None:
            part = walked[node] = part_of(node)
            if node.callee is not None and (waiting := list(queues_of(node))):
                queues[node] = waiting
        own_ns = end_ns - start_ns
        for queue, low_ns, high_ns in queues.get(node, ()):
            waited_ns = min(own_ns, min(end_ns, high_ns) - max(start_ns, low_ns))
            if waited_ns > 0:
                parts[queue] = parts.get(queue, 0) + waited_ns
                own_ns -= waited_ns
                if paths is not None:
                    paths.add(node, waited_ns, queue)
        parts[part] = parts.get(part, 0) + own_ns
        if paths is not None:
            paths.add(node, own_ns)
    crossings: dict[str, int] = {}
    on_path: dict[str, int] = {}
    inner_on_path: dict[str, int] = {}
    injected_ns: dict[str, int] = {}
    edge_requests: list[EdgeRequest] = []
    for node in tree.nodes:
        span = node.span
        kind = span.kind
        # A root of any kind enters its part; INTERNAL spans inside a component do not enter it again.
        if kind is INTERNAL:
            if not is_entry(node) and node is not root:
                part = walked.get(node)
                if part is not None:
                    inner_on_path[part] = inner_on_path.get(part, 0) + 1
                continue
        elif (node.unconnected or node.is_outer) and node is not root:
            continue
        part = walked.get(node)
        if part is None:
            part = part_of(node)
        else:
            on_path[part] = on_path.get(part, 0) + 1
            if took_ns := _ns(span, DELAY_TOOK):
                injected_ns[part] = injected_ns.get(part, 0) + took_ns
        crossings[part] = crossings.get(part, 0) + 1
        if kind is SERVER and span.service == EDGE:
            sent_on = (child.span.span_id for child in node.children if child.span.kind is CLIENT)
            length_ns, cut_ns = node.end_ns - node.start_ns, max(0, span.end_ns - node.end_ns)
            edge_requests.append(EdgeRequest((span.span_id, span.parent_id, *sent_on), length_ns, cut_ns))
    attributes = root.span.attributes
    return Budget(
        trace_id=root.span.trace_id,
        journey=str(attributes.get("shop.journey", root.span.name)),
        channel=str(attributes.get("shop.channel", "")),
        total_ns=root.end_ns - root.start_ns,
        parts=parts,
        crossings=crossings,
        quality=tree.quality,
        on_path=on_path,
        inner_on_path=inner_on_path,
        injected_ns=injected_ns,
        edge_requests=tuple(edge_requests),
        calls=tuple(calls_of(tree)) if with_calls else (),
        paths={} if paths is None else paths.ns,
    )


def budgets_of(traces: Iterable[Iterable[Span]], *, with_paths: bool = False) -> tuple[list[Budget], Quality]:
    """Makes the budgets of the traces that have a root, and adds up the quality of all traces."""
    budgets: list[Budget] = []
    quality = Quality()
    for spans in traces:
        tree = grow(spans)
        quality.add(tree.quality)
        budget = budget_of_tree(tree, with_paths=with_paths)
        if budget is not None:
            budgets.append(budget)
    return budgets, quality


def queues_of(call: Node) -> Iterator[tuple[str, int, int]]:
    """Finds when a call waited for an event loop that was busy with other work, as its spans report: part, start, end.

    On the way there it waited for the callee, whose loop had not yet read the request; on the way back, for the caller.
    Until the answer had arrived, a busy caller delayed nobody.
    """
    answered_ns = call.start_ns
    for child in call.children:
        if child.is_try:
            answered_ns = max(answered_ns, child.end_ns)
            busy_ns, rested_ns = _busy(child.span)
            if busy_ns:
                ended_ns = child.start_ns - rested_ns
                yield queue_of(child), ended_ns - busy_ns, ended_ns
    busy_ns, rested_ns = _busy(call.span)
    if busy_ns:
        ended_ns = call.end_ns - rested_ns
        yield queue_of(call), max(answered_ns, ended_ns - busy_ns), ended_ns


def queue_of(node: Node) -> str:
    """Returns the part of the time that calls waited for the event loop of a span's component."""
    return node.queue or f"queue:{node.span.service}"


def is_entry(node: Node) -> bool:
    """Whether a span enters its part: INTERNAL spans inside a component do not, unless they are parts themselves."""
    if node.span.kind is not INTERNAL or node.enters:
        return True
    return not node.part and node.span.name in _COUNTED_INTERNAL


def _busy(span: Span) -> tuple[int, int]:
    """Returns, in ns, how long a span's event loop had been busy, and how long ago its busy time had ended."""
    if LOOP_BUSY not in span.attributes:
        return 0, 0
    return _ns(span, LOOP_BUSY), _ns(span, LOOP_RESTED)


def _ns(span: Span, name: str) -> int:
    ms = span.attributes.get(name)
    return round(ms * NS_PER_MS) if isinstance(ms, int | float) else 0


def calls_of(tree: Tree) -> Iterator[Call]:
    """Finds every call between components, except calls to a database and calls that no SERVER span answers."""
    for node in tree.calls:
        caller = node.span.service
        if node.callee is None or node.is_try or is_sidecar(caller):
            continue
        answer = _answer(node)
        if answer is not None:
            between_ns = node.end_ns - node.start_ns - (answer.end_ns - answer.start_ns)
            busy_ns, rested_ns = _busy(answer.span)
            ahead_ns = answer.span.start_ns - node.span.start_ns
            yield Call(
                caller=caller,
                callee=answer.span.service,
                between_ns=between_ns,
                began_ns=answer.span.start_ns,
                ahead_ns=ahead_ns,
                after_ns=node.span.end_ns - answer.span.end_ns,
                queued_ns=max(0, min(busy_ns, ahead_ns - rested_ns)),
                injected_ns=_ns(answer.span, DELAY_TOOK),
            )


def _answer(call: Node) -> Node | None:
    """Finds the SERVER span of the called component, through sidecars; after several tries, that of the last one."""
    children = call.children
    if len(children) == 1 and children[0].span.kind is SERVER and not is_sidecar(children[0].span.service):
        return children[0]
    answers: list[Node] = []
    passing = [call]
    while passing:
        for child in passing.pop().children:
            span = child.span
            if is_sidecar(span.service):
                passing.append(child)
            elif span.kind is SERVER:
                answers.append(child)
            elif child.is_try:
                passing.append(child)
    return answers[0] if len(answers) == 1 else max(answers, key=_last, default=None)


def part_of(node: Node) -> str:
    """Returns the part that a span's own time belongs to."""
    if node.part:
        return node.part
    span = node.span
    kind = span.kind
    if kind is CLIENT:
        if is_database(span):
            return _stored(span.service, span.attributes.get("db.system.name") in CACHES)
        if node.callee is not None:
            return _wire(span.service, node.callee)
        return _unanswered(span.service, node.unconnected)
    if span.service == EDGE_CACHE and span.attributes.get(EDGE_CACHE_STATUS) == HIT:
        return HIT_PART
    name = span.name
    return _inside(kind, span.service, name if name in _COUNTED_INTERNAL else "")


def maker_of(part: str) -> tuple[str, Kind] | None:
    """Returns the component whose spans enter a part, and their kind; None if the part's name does not say."""
    kind, _, name = part.partition(":")
    if kind == "wire":
        return name.partition("→")[0], CLIENT
    if part in _OF_GENERATOR:
        return GENERATOR, INTERNAL
    if part == PUSH_PART:
        return GENERATOR, CONSUMER
    entering = _ENTERING.get(kind)
    return None if entering is None else (name, entering)


# Names are cached: a run has few parts and millions of spans.
@cache
def _wire(caller: str, callee: str) -> str:
    return f"wire:{caller}→{callee}"


@cache
def _stored(caller: str, in_cache: bool) -> str:
    return f"{'cache' if in_cache else 'db'}:{caller}"


@cache
def _unanswered(caller: str, unconnected: bool) -> str:
    return f"{PROXY}{caller}" if unconnected and is_proxy(caller) else UNATTRIBUTED


@cache
def _inside(kind: Kind, service: str, name: str) -> str:
    if kind is PRODUCER or kind is CONSUMER:
        return PUSH_PART if service == GENERATOR else f"{OUTBOX}{service}"
    if kind is not INTERNAL and kind is not SERVER:
        return UNATTRIBUTED
    if service == GENERATOR:
        return _GENERATOR_PARTS.get(name, CLIENT_PART)
    if name == POOL_SPAN:
        return f"pool:{service}"
    return f"{PROXY}{service}" if is_proxy(service) else f"{WORK}{service}"


def is_proxy(service: str) -> bool:
    """Whether a component forwards requests: the edge, a shared cache in front of it, or a sidecar."""
    return service in (EDGE, EDGE_CACHE) or is_sidecar(service)


@cache
def is_sidecar(service: str) -> bool:
    """Whether spans with this service name are a sidecar's."""
    return service.endswith((INBOUND, OUTBOUND))


def component_of(service: str) -> str:
    """Returns the component that a sidecar belongs to; any other component is returned as it is."""
    return service.removesuffix(INBOUND).removesuffix(OUTBOUND)


def bypasses_sidecars(part: str) -> bool:
    """Whether a part is a call that bypassed, in a mesh, the sidecar of its caller or of its callee.

    Every call goes from the caller to its own sidecar, from there to the callee's, and from there to the callee.
    The edge has a sidecar for outgoing calls only; its clients are outside the mesh.
    """
    kind, _, ends = part.partition(":")
    if kind != "wire":
        return False
    caller, _, callee = ends.partition("→")
    return not (
        (caller, callee) == (GENERATOR, EDGE)
        or callee == caller + OUTBOUND
        or caller == callee + INBOUND
        or (caller.endswith(OUTBOUND) and callee.endswith(INBOUND))
    )


_last = attrgetter("end_ns", "start_ns")
_GENERATOR_PARTS = {
    START_LAG_SPAN: START_LAG_PART,
    LINK_UP_SPAN: NETWORK_PART,
    LINK_DOWN_SPAN: NETWORK_PART,
    HANDSHAKE_SPAN: HANDSHAKE_PART,
    WAITING_SPAN: WAITING_PART,
    THINK_SPAN: THINK_SPAN,
}
_COUNTED_INTERNAL = frozenset({POOL_SPAN, *_GENERATOR_PARTS})
_OF_GENERATOR = frozenset({CLIENT_PART, *_GENERATOR_PARTS.values()})
_ENTERING = {
    "work": SERVER,
    "queue": SERVER,
    "proxy": SERVER,
    HIT: SERVER,
    "pool": INTERNAL,
    "db": CLIENT,
    "cache": CLIENT,
    "outbox": PRODUCER,
}
