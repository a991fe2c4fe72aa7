"""Traces of any system: trees of spans that were not made for hop budgets.

Stock SDKs, older tracers and half instrumented systems leave traces without CLIENT and SERVER pairs, without kinds,
without a root, with messages between components. Each is brought into the shape that the walk and the budget know,
by small adjusters in a stated order; what had to be repaired is counted as in any tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from hops.traces.span import CLIENT, CONSUMER, INTERNAL, PRODUCER, SERVER, Kind, Span, shown_name
from hops.traces.tree import (
    Node,
    Tree,
    clip_children,
    find_callees,
    grow,
    is_database,
    link_parents,
    order_intervals,
    precedence,
    sort_children,
)

PEERS = ("peer.service", "server.address", "net.peer.name")
"""Attributes by which a call says whom it calls, the first that is there."""
PRIVATE_DOMAINS = frozenset({"consul", "internal", "lan", "local", "localdomain", "svc"})
"""Last labels of hosts whose first one is a service's name, as in `order.shop.svc.cluster.local`."""
CALLEE = "-callee"
"""Ends the id of the callee's half of a call whose halves shared theirs."""
DAY_NS = 86_400 * 10**9
"""No clock of today shows a time so soon after 1970: where a whole trace is that early, its times count from 0."""
WAIT = "wait for "
"""Begins the name of the node that stands for the time from a message's sending to its receipt."""


def grow_any(spans: Iterable[Span]) -> Tree:
    """Builds the tree of one trace of any system; as `hops.traces.tree.grow`, which has the shop's conventions."""
    return grow(separate_shared(list(spans)), FOREIGN_ADJUSTERS)


def separate_shared(spans: list[Span]) -> list[Span]:
    """Gives the callee's half of a call an id of its own where both halves have one, as Zipkin's tracers do.

    What the callee did then hangs below its half.
    """
    if len({span.span_id for span in spans}) == len(spans):
        return spans
    spans = sorted(spans, key=precedence)  # of several of one half, the one that the tree will keep
    callers = {span.span_id: span.service for span in spans if span.kind is CLIENT}
    callees = {span.span_id: span.service for span in spans if span.kind is SERVER and span.span_id in callers}

    def apart(span: Span) -> Span:
        if span.kind is SERVER and span.span_id in callees:
            return replace(span, span_id=f"{span.span_id}{CALLEE}", parent_id=span.span_id)
        callee = callees.get(span.parent_id)
        if callee is not None and span.service == callee and callers[span.parent_id] != callee:
            return replace(span, parent_id=f"{span.parent_id}{CALLEE}")
        return span

    return [apart(span) for span in spans]


def peer_of(span: Span) -> str:
    """Whom a call says that it calls; empty if it does not."""
    return next((shown_name(str(span.attributes[name])) for name in PEERS if span.attributes.get(name)), "")


def place_timeless(tree: Tree) -> None:
    """Puts spans without times around their children, or at their parent's start: Zipkin's may have none.

    A span without times would begin in 1970, and what is below it would be cut away. Where all spans do, as in traces
    that a program made up, times count from 0, and a span that begins there has them if it has a length.
    """
    from_zero = max((node.span.start_ns for node in tree.nodes), default=0) < DAY_NS
    timeless = {
        span_id
        for span_id, node in tree.by_id.items()
        if node.span.start_ns < 0 or (node.span.start_ns == 0 and not (from_zero and node.span.end_ns > 0))
    }
    if not timeless:
        return
    around: dict[str, tuple[int, int]] = {}
    for node in tree.nodes:
        low, high, parent_id = node.start_ns, node.end_ns, node.span.parent_id
        if node.span.span_id in timeless:
            continue
        while parent_id in timeless:
            known = around.get(parent_id, (low, high))
            low, high = min(low, known[0]), max(high, known[1])
            if around.get(parent_id) == (low, high):
                break
            around[parent_id] = low, high
            parent_id = tree.by_id[parent_id].span.parent_id
    first = min((node.start_ns for node in tree.nodes if node.span.span_id not in timeless), default=0)
    for span_id in timeless:
        node = tree.by_id[span_id]
        parent = tree.by_id.get(node.span.parent_id)
        moment = first if parent is None or parent.span.start_ns <= 0 else parent.start_ns
        low, high = around.get(span_id, (moment, moment))
        node.span = replace(node.span, start_ns=low, end_ns=high)
        node.start_ns = node.began_ns = low
        node.end_ns = node.ended_ns = high


def follow_links(tree: Tree) -> None:
    """Hangs a message's receipt below its sending where only a link tells, as batch receivers do.

    Only for spans whose parent is not in the trace: a parent says more than a link.
    """
    for node in tree.nodes:
        span = node.span
        if span.kind is not CONSUMER or span.parent_id in tree.by_id:
            continue
        for trace_id, span_id in span.links:
            if trace_id == span.trace_id and span_id in tree.by_id and span_id != span.span_id:
                node.span = replace(span, parent_id=span_id)
                break


def adopt_root(tree: Tree) -> None:
    """Gives a trace without a root one: of the spans whose parent was never reported the longest, else of all.

    A caller that is not instrumented, or whose spans are kept elsewhere, leaves such traces; so do spans that are each
    other's parents. The root counts as an orphan, so that the trace is not taken for complete.
    """
    if not tree.nodes or not all(node.span.parent_id for node in tree.nodes):
        return
    topmost = [node for node in tree.nodes if node.span.parent_id not in tree.by_id]
    tree.quality.rings += not topmost
    root = max(topmost or tree.nodes, key=lambda node: (node.end_ns - node.start_ns, -node.start_ns, node.span.span_id))
    root.span = replace(root.span, parent_id="")
    tree.quality.orphans += 1


def settle_kinds(tree: Tree) -> None:
    """Names the roles of spans that do not say theirs, or not one that fits their place.

    A span without a kind is INTERNAL below one of its own component, and SERVER below another's. What another component
    did below a CLIENT span answered that call, whatever it calls itself.
    """
    for node in tree.nodes:
        span = node.span
        if span.kind is SERVER or span.kind is CLIENT or span.kind is PRODUCER:
            continue
        parent = tree.by_id.get(span.parent_id)
        inside = parent is not None and parent.span.service == span.service
        if span.kind is Kind.UNSPECIFIED:
            node.span = replace(span, kind=INTERNAL if inside else SERVER)
        elif parent is not None and parent.span.kind is CLIENT and not inside:
            node.span = replace(span, kind=SERVER)


def name_far_callees(tree: Tree) -> None:
    """Names the callee of calls that reach it through further spans of the caller.

    A client library over another leaves CLIENT above CLIENT, and some put INTERNAL spans in between. Each CLIENT span
    on the way up from an answered call, as far as the component goes, is a call of the same callee.
    """
    seen: set[int] = set()
    for call in tree.calls:
        node: Node | None = call
        while node is not None and id(node) not in seen:
            seen.add(id(node))
            parent = tree.by_id.get(node.span.parent_id)
            if parent is None or parent.span.service != call.span.service or parent.span.kind in (SERVER, CONSUMER):
                break
            if parent.span.kind is CLIENT and parent.callee is None and not is_database(parent.span):
                parent.callee = call.callee
                tree.quality.missing_servers -= 1
            node = parent
    services = {node.span.service for node in tree.nodes}
    for node in tree.nodes:
        if node.span.kind is CLIENT and node.callee is None and is_external(node, services):
            tree.quality.missing_servers -= 1


def is_external(call: Node, services: set[str]) -> bool:
    """Whether a call that no span answers names a callee that leaves no spans in this trace at all.

    Args:
        call: A CLIENT span without callee.
        services: Components of the trace: a call of one of these has lost its callee's span.
    """
    if call.unconnected or is_database(call.span) or call.span.attributes.get("canceled") == "true":
        return False
    peer = peer_of(call.span)
    label, _, domain = peer.partition(":")[0].partition(".")
    inside = not domain or domain.rpartition(".")[2] in PRIVATE_DOMAINS
    return bool(peer) and peer not in services and not (inside and label in services)


def hand_messages_over(tree: Tree) -> None:
    """Puts a message's receipt beside its sending, with the wait in between as a node of its own.

    A PRODUCER span ends when the message is sent, or acknowledged; what is done with the message goes on after that.
    Below the PRODUCER span it would be cut away; beside it, it is on the path wherever somebody waited for it.
    """
    # Children are moved all at once: one sending may have many receipts.
    aboves: dict[Node, Node | None] = {}
    handed: dict[Node, set[Node]] = {}
    added: dict[Node, list[Node]] = {}
    for node in list(tree.nodes):
        sender = tree.by_id.get(node.span.parent_id)
        if node.span.kind is not CONSUMER or sender is None or sender.span.kind is not PRODUCER:
            continue
        if node.end_ns <= sender.end_ns or node.start_ns < sender.start_ns or sender is tree.root:
            continue
        if sender not in aboves:
            aboves[sender] = _sent_in(tree, sender)
        above = aboves[sender]
        if above is None or above is node:
            continue
        handed.setdefault(sender, set()).add(node)
        below = added.setdefault(above, [])
        below.append(node)
        if node.start_ns <= sender.end_ns:
            continue
        span = replace(
            node.span, span_id=f"{node.span.span_id}-wait", name=f"{WAIT}{node.span.service}", start_ns=sender.end_ns,
            end_ns=node.start_ns, attributes={},
        )  # fmt: skip
        wait = Node(span, span.start_ns, span.end_ns, span.start_ns, span.end_ns)
        wait.callee = sender.span.service
        tree.nodes.append(wait)
        below.append(wait)
    for sender, nodes in handed.items():
        sender.children = [child for child in sender.children if child not in nodes]
    for parent, more in added.items():
        parent.children = [*parent.children, *more]


def _sent_in(tree: Tree, sender: Node) -> Node | None:
    """What a message was sent by: the nearest span above that is no sending; None if sendings are a ring."""
    above: Node | None = sender
    passed: set[str] = set()
    while above is not None and above.span.kind is PRODUCER and above is not tree.root:
        if above.span.span_id in passed:
            return None
        passed.add(above.span.span_id)
        above = tree.by_id.get(above.span.parent_id, tree.root)
    return above


FOREIGN_ADJUSTERS: tuple[Callable[[Tree], None], ...] = (
    place_timeless,
    order_intervals,
    follow_links,
    adopt_root,
    settle_kinds,
    link_parents,
    find_callees,
    name_far_callees,
    hand_messages_over,
    clip_children,
    sort_children,
)
