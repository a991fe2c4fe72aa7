"""Traces of any system: trees of spans that were not made for hop budgets.

Stock SDKs, older tracers and half-instrumented systems leave traces without CLIENT and SERVER pairs, without kinds,
without a root, or with messages between components. Small adjusters in a stated order bring each trace into the shape
that the walk and the budget need. Repairs are counted as in any tree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from operator import itemgetter

from msgspec.structs import replace

from hops.traces.critical_path import AHEAD_PERCENT
from hops.traces.end_to_end import Adjuster, to_the_end, waiting
from hops.traces.joins import join_answers
from hops.traces.local_work import is_local_work
from hops.traces.proxies import name_proxies, separate_proxies, settle_relays, take_requests_in, wait_for_applications
from hops.traces.shared import find_shared, is_asking
from hops.traces.span import CLIENT, CONSUMER, FOLLOWS_FROM, INTERNAL, PRODUCER, REF_TYPE, SERVER, Kind, Span, follows
from hops.traces.tree import (
    Node,
    Tree,
    clip_children,
    find_callees,
    grow,
    is_database,
    is_missing,
    leave_time_to_links,
    link_parents,
    order_intervals,
    precedence,
    sort_children,
)

CALLEE = "-callee"
"""Suffix of the id of the callee's half of a call, if both halves had the same id."""
YEAR_NS = 365 * 86_400 * 10**9
"""No span takes this long."""
EARLIEST_NS = YEAR_NS
"""No clock shows a time so soon after 1970, but microseconds or milliseconds read as nanoseconds do."""
LATEST_NS = 4_102_444_800 * 10**9
"""The year 2100: no clock shows a later time."""
_MESSAGES = (PRODUCER, CONSUMER)


def grow_any(spans: Iterable[Span], *, end_to_end: bool = False) -> Tree:
    """Builds the tree of one trace of any system, as `hops.traces.tree.grow` does under the shop's conventions."""
    shared = separate_shared(list(spans))
    separate = separate_proxies(shared)
    if separate is shared:
        return grow(shared, _TO_THE_END if end_to_end else FOREIGN_ADJUSTERS)
    return grow(separate, _TO_THE_END_WITH_PROXIES if end_to_end else WITH_PROXIES)


def separate_shared(spans: list[Span]) -> list[Span]:
    """Gives the callee's half of a call a separate id if both halves have the same id, as Zipkin's tracers write them.

    Spans of components other than the caller then hang below the callee's half: spans of the callee, or of the
    application behind a proxy.
    """
    if len({span.span_id for span in spans}) == len(spans):
        return spans
    spans = sorted(spans, key=precedence)  # of several spans of one half, the tree will keep the last
    callers = {span.span_id: span.service for span in spans if span.kind is CLIENT}
    callees = {span.span_id: span.service for span in spans if span.kind is SERVER and span.span_id in callers}

    def apart(span: Span) -> Span:
        if span.kind is SERVER and span.span_id in callees:
            return replace(span, span_id=f"{span.span_id}{CALLEE}", parent_id=span.span_id)
        callee = callees.get(span.parent_id)
        if callee is not None and callers[span.parent_id] not in (span.service, callee):
            return replace(span, parent_id=f"{span.parent_id}{CALLEE}")
        return span

    return [apart(span) for span in spans]


def settle_times(tree: Tree) -> None:
    """Gives times to spans that lack them, lack an end, or have impossible times.

    Such a span lasts as long as the spans below it; without any, it takes no time, at its parent's start. A span from a
    different year than the rest would otherwise hide its parent, and the spans below it would be cut away. If all spans
    are from 1970, as in traces that a program made up, times count from 0.
    """
    nodes = tree.nodes
    for node in nodes:
        start, end = node.start_ns, node.end_ns
        if not EARLIEST_NS <= start < end < LATEST_NS or end - start > YEAR_NS:
            break
    else:
        return
    starts, ends = [node.start_ns for node in nodes], [node.end_ns for node in nodes]
    from_zero = max(starts) < EARLIEST_NS
    earliest, latest = (-EARLIEST_NS, EARLIEST_NS) if from_zero else (EARLIEST_NS, LATEST_NS)
    without_start: set[str] = set()
    without_end: set[str] = set()
    moments: set[str] = set()
    for node, start, end in zip(nodes, starts, ends, strict=True):
        span_id = node.span.span_id
        if end == 0 < start < latest and start >= earliest:
            without_end.add(span_id)
            tree.quality.unfinished += 1
            _place(node, start, start)
        elif start == 0 and (end == 0 or (not from_zero and end <= YEAR_NS)):
            without_start.add(span_id)
            tree.quality.unfinished += 1
        elif not earliest <= start < latest or end >= latest or abs(end - start) > YEAR_NS:
            without_start.add(span_id)
            tree.quality.misdated += 1
            tree.undated.add(span_id)
        elif start == end and node.span.kind not in _MESSAGES:
            moments.add(span_id)
    if without_start or without_end or moments:
        _place_around_children(tree, without_start, without_end, moments)


def _place_around_children(tree: Tree, without_start: set[str], without_end: set[str], moments: set[str]) -> None:
    """Gives spans the times of the spans below them; if a child of `moments` lasts longer, the duration was lost."""
    below: dict[str, list[Node]] = defaultdict(list)
    for node in tree.nodes:
        below[node.span.parent_id].append(node)
    order = [node for node in tree.nodes if node.span.parent_id not in tree.by_id]
    for node in order:
        order += below.get(node.span.span_id, ())
    unplaced = set(without_start)
    for node in reversed(order):
        span_id = node.span.span_id
        if span_id not in without_start and span_id not in without_end and span_id not in moments:
            continue
        inside = [
            child
            for child in below.get(span_id, ())
            if child.span.span_id not in unplaced and _waits_for(node.span, child.span)
        ]
        end = max((child.end_ns for child in inside), default=node.start_ns)
        if span_id in without_start:
            if inside:
                _place(node, min(child.start_ns for child in inside), end)
                unplaced.remove(span_id)
        elif end > node.start_ns:
            _place(node, node.start_ns, end)
            tree.quality.unfinished += span_id in moments
        elif span_id in without_end:
            tree.undated.add(span_id)
    first = min((node.start_ns for node in tree.nodes if node.span.span_id not in unplaced), default=0)
    # Sorted nodes first, then nodes that are their own ancestors.
    for node in (*order, *tree.nodes) if unplaced else ():
        if node.span.span_id in unplaced:
            parent = tree.by_id.get(node.span.parent_id)
            moment = first if parent is None or parent.span.span_id in unplaced else parent.start_ns
            _place(node, moment, moment)
            unplaced.remove(node.span.span_id)
            tree.undated.add(node.span.span_id)


def _place(node: Node, start_ns: int, end_ns: int) -> None:
    end_ns = max(start_ns, end_ns)
    node.span = replace(node.span, start_ns=start_ns, end_ns=end_ns)
    node.start_ns = node.began_ns = start_ns
    node.end_ns = node.ended_ns = end_ns


def _waits_for(parent: Span, child: Span) -> bool:
    """Whether a span lasts as long as a span below it: not if the lower span handles a message, or follows another."""
    if child.kind is CONSUMER and parent.kind is not CONSUMER:
        return False
    return not (parent.kind is PRODUCER and parent.service != child.service) and not follows(child)


def leave_out(tree: Tree) -> None:
    """Removes the root if its times are missing or impossible: the trace has no end-to-end time."""
    root = tree.root
    if root is not None and (root.span.span_id in tree.undated or root.span.end_ns < root.span.start_ns):
        tree.root = None
        tree.quality.left_out += 1


def follow_links(tree: Tree) -> None:
    """Hangs spans without a parent below a span of the same trace to which they have a link.

    A span that receives a message goes below the span that sent it, even if its parent is in another trace, as batch
    receivers record it. All other linked spans follow an earlier span, which does not wait for them.
    """
    for node in tree.nodes:
        span = node.span
        if not span.links or span.parent_id in tree.by_id:
            continue
        is_receipt = span.kind is CONSUMER
        if span.parent_id and not is_receipt:
            continue
        for trace_id, span_id in span.links:
            linked = tree.by_id.get(span_id)
            if trace_id != span.trace_id or linked is None or linked is node:
                continue
            if is_receipt:
                node.span = replace(span, parent_id=span_id)
                break
            if (linked.start_ns, span_id) < (node.start_ns, span.span_id) and not _is_below(tree, linked, span):
                node.span = replace(
                    span, parent_id=span_id, attributes={**span.attributes, REF_TYPE: FOLLOWS_FROM}
                )  # fmt: skip
                break


def _is_below(tree: Tree, node: Node | None, span: Span) -> bool:
    passed: set[str] = set()
    while node is not None and node.span.span_id not in passed:
        if node.span.span_id == span.span_id:
            return True
        passed.add(node.span.span_id)
        node = tree.by_id.get(node.span.parent_id)
    return False


def adopt_root(tree: Tree) -> None:
    """Chooses a root for a trace without one: the longest span whose parent was never reported, else the longest.

    Such traces come from callers that are not instrumented, or whose spans are kept elsewhere; and from spans that are
    each other's parents. The root counts as an orphan, so that the trace does not count as complete.
    """
    if not tree.nodes or not all(node.span.parent_id for node in tree.nodes):
        return
    topmost = [node for node in tree.nodes if node.span.parent_id not in tree.by_id]
    tree.quality.rings += not topmost
    root = max(topmost or tree.nodes, key=lambda node: (node.end_ns - node.start_ns, -node.start_ns, node.span.span_id))
    root.span = replace(root.span, parent_id="")
    tree.quality.orphans += 1


def settle_kinds(tree: Tree) -> None:
    """Sets the kind of spans that report no kind, or a kind that does not fit their place.

    A span without a kind is INTERNAL below a span of the same component, and SERVER below another component's. A span
    of another component below a CLIENT span answered that call, whichever kind it reports. If it reports CLIENT, it may
    also make a call.
    """
    answers: list[Node] = []
    for node in tree.nodes:
        span = node.span
        kind = span.kind
        if kind is SERVER or kind is PRODUCER:
            continue
        parent = tree.by_id.get(span.parent_id)
        inside = parent is not None and parent.span.service == span.service
        if kind is Kind.UNSPECIFIED:
            node.span = replace(span, kind=INTERNAL if inside else SERVER)
        elif parent is not None and parent.span.kind is CLIENT and not inside:
            if kind is not CLIENT:
                answers.append(node)
            elif not is_database(span):
                answers.append(node)
                tree.relays.append(node)
    for node in answers:  # all in one step: until here, parents have their reported kinds
        node.span = replace(node.span, kind=SERVER)


def find_open_calls(tree: Tree) -> None:
    """Finds calls with neither an answer nor an inner call right below them.

    CLIENT spans for work that calls nobody, such as a name lookup or connecting, become INTERNAL.
    """
    for node in tree.nodes:
        span = node.span
        if span.kind is not CLIENT:
            if span.kind is INTERNAL and span.attributes and is_asking(node):
                tree.open_calls.append(node)
            continue
        if is_database(span):
            continue
        answered = made = False
        for child in node.children:
            answered = answered or child.span.service != span.service
            made = made or child.span.kind is CLIENT or child.span.kind is SERVER
        if not answered and is_local_work(span):
            node.span = replace(span, kind=INTERNAL)
        elif not made:
            tree.open_calls.append(node)


def name_far_callees(tree: Tree) -> None:
    """Names the callee of calls that reach it through further spans of the caller.

    One client library on top of another leaves one CLIENT span above another, some with INTERNAL spans in between. Each
    CLIENT span on the way up from an answered call, within the component, is a call to the same callee.
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
                tree.quality.missing_servers -= is_missing(parent)
                parent.is_outer = True
            elif parent.callee is not None:
                parent.is_outer = not any(child.span.kind is SERVER for child in parent.children)
            node = parent


def leave_followers(tree: Tree) -> None:
    """Takes spans that follow another span off the path: nobody waits for them."""
    left: dict[Node, set[Node]] = defaultdict(set)
    for node in tree.nodes:
        if REF_TYPE not in node.span.attributes or not node.span.parent_id or not follows(node.span):
            continue
        above = tree.by_id.get(node.span.parent_id, tree.root)
        if above is not None and above is not node:
            left[above].add(node)
            tree.extra_roots.append(node)
            tree.quality.followers += 1
    for above, nodes in left.items():
        above.children = [child for child in above.children if child not in nodes]


def hand_messages_over(tree: Tree) -> None:
    """Puts a message's receipt next to its sending, below a node for the message's time in transit.

    A PRODUCER span ends when the message is sent, or acknowledged; the message is handled after that. Below the
    PRODUCER span the handling would be cut away; next to that span, it is on the path if any span waited for it. A
    sender that answered before the message was handled did not wait; then the receipt stays where it is, and costs
    nothing.

    Work that a receipt hands on when it has ended, such as `process` below `receive`, belongs to the message, as the
    receipt does.
    """
    # All children are moved in one step, because one sending may have many receipts.
    for node in tree.nodes:
        if node.span.kind in _MESSAGES:
            break
    else:
        return
    moved: dict[Node, Node] = {}  # each with the span above it
    added: dict[Node, list[tuple[str, Node]]] = defaultdict(list)  # with the ids of their senders
    # A receipt that an outer receipt hands on moves with that, so the outer comes first.
    for sender in sorted(tree.nodes, key=lambda node: node.span.kind is not PRODUCER and node.start_ns):
        is_sending = sender.span.kind is PRODUCER and sender is not tree.root
        above = (_sent_in(tree, sender) if is_sending else sender) if sender.children else None
        if above is None:
            continue
        for receipt in sender.children:
            if receipt in moved or receipt is above or receipt.start_ns < sender.start_ns:
                continue
            if not _is_receipt(sender.span, receipt.span):
                continue
            later = [one for one in _handled_later(receipt) if one[1] not in moved]
            end_ns = max(receipt.end_ns, *(child.end_ns for _, child in later), receipt.start_ns)
            if not (end_ns > sender.end_ns if is_sending else later) or not _waited(above, receipt.start_ns, end_ns):
                continue
            moved[receipt] = sender
            moved |= {child: parent for parent, child in later}
            if later or receipt.start_ns > sender.end_ns:
                sent_ns = min(sender.end_ns, receipt.start_ns) if is_sending else receipt.start_ns
                way = waiting(sender.span, receipt, sent_ns, end_ns)
                for _, child in later:
                    child.is_try |= child.end_ns == end_ns
                    way.children.append(child)
                tree.nodes.append(way)
                added[above].append((sender.span.span_id, way))
            else:
                added[above].append((sender.span.span_id, receipt))
    for parent in set(moved.values()):
        parent.children = [child for child in parent.children if child not in moved]
    for parent, more in added.items():
        parent.children = [*parent.children, *(node for _, node in sorted(more, key=itemgetter(0)))]


def cross_the_link(tree: Tree) -> None:
    """Treats the generator's spans as in the shop's traces, if `hopwise load` began the trace."""
    if tree.is_of_load:
        leave_time_to_links(tree)


def _is_receipt(sender: Span, receipt: Span) -> bool:
    """Whether a span receives a message: a span of another component below a PRODUCER span, or a CONSUMER span."""
    if sender.kind is PRODUCER:
        return receipt.kind is CONSUMER or receipt.service != sender.service
    return receipt.kind is CONSUMER and not (sender.kind is CONSUMER and sender.service == receipt.service)


def _handled_later(receipt: Node) -> list[tuple[Node, Node]]:
    """Finds the work that a receipt hands on in its component: pairs of a span and a child that outlasts it."""
    later: list[tuple[Node, Node]] = []
    passed = [receipt] if receipt.span.kind is CONSUMER else []
    for node in passed:
        if receipt in node.children:
            return []  # spans that are each other's ancestors
        own = [
            child
            for child in node.children
            if child.span.service == receipt.span.service and child.span.kind in (CONSUMER, INTERNAL)
        ]
        # Brave ends a receipt at once and handles the message in a span without a kind. If the receipt itself has work
        # below it, a later span is work that nobody waits for.
        at_once = all(child.start_ns + child.end_ns > 2 * node.end_ns for child in node.children)
        for child in own:
            if child.end_ns > node.end_ns and (child.span.kind is CONSUMER or (at_once and node.span.kind is CONSUMER)):
                later.append((node, child))
            if child.children:
                passed.append(child)
    return later


def _waited(above: Node, start_ns: int, end_ns: int) -> bool:
    """Whether the critical path counts work with this start and end as done when the span above ended."""
    over_ns = end_ns - above.end_ns
    return start_ns < above.end_ns and over_ns * 100 <= AHEAD_PERCENT * (end_ns - start_ns)


def _sent_in(tree: Tree, sender: Node) -> Node | None:
    """Finds the span that sent a message: the nearest above that is not a PRODUCER; None if PRODUCERs form a ring."""
    above: Node | None = sender
    passed: set[str] = set()
    while above is not None and above.span.kind is PRODUCER and above is not tree.root:
        if above.span.span_id in passed:
            return None
        passed.add(above.span.span_id)
        above = tree.by_id.get(above.span.parent_id, tree.root)
    return above


FOREIGN_ADJUSTERS: tuple[Adjuster, ...] = (
    settle_times,
    order_intervals,
    follow_links,
    adopt_root,
    settle_kinds,
    link_parents,
    find_open_calls,
    join_answers,
    find_callees,
    name_far_callees,
    leave_followers,
    settle_relays,
    wait_for_applications,
    find_shared,
    hand_messages_over,
    leave_out,
    cross_the_link,
    clip_children,
    sort_children,
)
_OF_PROXIES: dict[Adjuster, Adjuster] = {settle_kinds: take_requests_in, hand_messages_over: name_proxies}
WITH_PROXIES = tuple(
    one for adjuster in FOREIGN_ADJUSTERS for one in (_OF_PROXIES.get(adjuster), adjuster) if one is not None
)
_TO_THE_END, _TO_THE_END_WITH_PROXIES = to_the_end(FOREIGN_ADJUSTERS), to_the_end(WITH_PROXIES)
