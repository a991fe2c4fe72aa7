"""A trace with changed times: its spans as they would be if parts were slower, faster, parallel or removed.

A trace says which span waited for which, by the same rule as on the critical path (`hops.traces.critical_path`). A
child began once every sibling that ended before the child's start had ended. A parent ended once its children had. The
time in between is the parent's own, and only own time changes (ADR 061). Shared resources are not modelled: a queue
stays as long as it was.

Spans are laid out from the leaves up, then moved from the root down, without recursion. Costs O(n log n), for sorting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from heapq import heappop, heappush
from operator import attrgetter

import msgspec
from msgspec.structs import replace

from hops.budget.parts import is_entry, part_of, queues_of
from hops.traces.critical_path import AHEAD_PERCENT
from hops.traces.span import Span
from hops.traces.tree import Node, Quality, Tree, clip_children, sort_children


class Change(msgspec.Struct, frozen=True):
    """A change of the own time of a part.

    Args:
        added_ns: Time added each time the part is entered, at its beginning; if negative, time removed, at most
            the own time.
    """

    factor: float = 1.0
    added_ns: int = 0


class Calls(msgspec.Struct, frozen=True):
    """Spans right below one span of a component, by their names or the texts after their last `/`."""

    component: str
    names: tuple[str, ...]

    def name_of(self, parent: Span, child: Span) -> str | None:
        """Finds which of the names a span has; None if the span is not one of these calls."""
        if parent.service != self.component:
            return None
        short = child.name.rpartition("/")[2]
        return next((name for name in self.names if name in (child.name, short)), None)


class Scenario(msgspec.Struct, frozen=True):
    """The changes to a trace.

    Args:
        removed_parts: Parts whose calls are removed, with everything below them.
    """

    changes: Mapping[str, Change] = {}
    parallel: tuple[Calls, ...] = ()
    removed_parts: frozenset[str] = frozenset()
    removed_calls: tuple[Calls, ...] = ()

    def removes(self, parent: Node, child: Node) -> bool:
        """Whether a call is removed."""
        return (bool(self.removed_parts) and part_of(child) in self.removed_parts) or any(
            calls.name_of(parent.span, child.span) for calls in self.removed_calls
        )


class _Laid(msgspec.Struct):
    """Layout of a span's inside, as if it still began at its old start; `own_ns` is before changes, without queues."""

    starts: dict[Node, int]
    end_ns: int
    own_ns: int


def retime(tree: Tree, scenario: Scenario) -> Tree | None:
    """Recomputes a trace under a scenario; None if nothing changes."""
    if tree.root is None:
        return None
    order = _top_down(tree.root, scenario)
    moves = _Moves(scenario, _changes_by_node(order, scenario))
    for node in reversed(order):
        moves.lay_out(node)
    return _rebuild(order, moves) if moves.effective else None


def _top_down(root: Node, scenario: Scenario) -> list[Node]:
    """Lists the remaining nodes, each after its parent."""
    order = [root]
    removes = bool(scenario.removed_parts or scenario.removed_calls)
    for node in order:
        order += [one for one in node.children if not (removes and scenario.removes(node, one))]
    return order


def _changes_by_node(order: list[Node], scenario: Scenario) -> dict[Node, Change]:
    """Finds the change of each span whose part changes: only the span that enters a part gets additions of time.

    Time that a part loses is taken both from the span that enters it and from the INTERNAL spans below.
    """
    if not scenario.changes:
        return {}
    entries: dict[Node, Node] = {}
    changes: dict[Node, Change] = {}
    own_ns: Counter[Node] = Counter()
    unchanged = _Moves(Scenario(), {})
    for node in order:
        entry = entries.setdefault(node, node)
        part = part_of(node)
        for child in node.children:
            if not is_entry(child) and part_of(child) == part:
                entries[child] = entry
        change = scenario.changes.get(part)
        if change is not None:
            changes[node] = change if entry is node or not change.added_ns else Change()
            if change.added_ns < 0:
                own_ns[entry] += unchanged.lay_out(node).own_ns
    for node in changes if own_ns else ():
        entry = entries[node]
        if entry in own_ns:
            lost_ns = scenario.changes[part_of(node)].added_ns
            changes[node] = Change(factor=max(0.0, 1 + lost_ns / own_ns[entry]) if own_ns[entry] else 1.0)
    return changes


class _Moves:
    """Lays out the spans of a trace, children before parents; `grown` says how much longer each span is."""

    def __init__(self, scenario: Scenario, changes: Mapping[Node, Change]) -> None:
        self._scenario = scenario
        self._changes = changes
        self._removes = bool(scenario.removed_parts or scenario.removed_calls)
        self.laid: dict[Node, _Laid] = {}
        self.grown: dict[Node, int] = {}
        self.effective = bool(changes)

    def lay_out(self, node: Node) -> _Laid:
        """Lays out the inside of a span."""
        change = self._changes.get(node, _NONE)
        # A callee may continue after its call has ended.
        began_ns, end_ns = node.began_ns, max(node.span.end_ns, node.began_ns)
        queues = [(low, high) for _, low, high in queues_of(node)] if node.callee is not None else []
        old_ns, new_ns, own_ns = began_ns, began_ns + max(0, change.added_ns), 0
        running: list[tuple[int, int, int, int, int, bool]] = []
        starts: dict[Node, int] = {}
        rounds = [_Round(calls) for calls in self._scenario.parallel]

        def gap_until(moment_ns: int) -> tuple[int, int]:
            """Gives the own time before a moment, without queues, and how long everything before it takes now."""
            gap_ns = moment_ns - old_ns
            if gap_ns <= 0:
                return 0, gap_ns  # the child began a little before the sibling that it waited for had closed
            queued_ns = sum(max(0, min(high, moment_ns) - max(low, old_ns)) for low, high in queues)
            busy_ns = gap_ns - min(gap_ns, queued_ns)
            return busy_ns, gap_ns - busy_ns + round(busy_ns * change.factor)

        children = sorted(node.children, key=_in_time)
        later = [child for child in children if child.began_ns >= end_ns]
        for number, child in enumerate(children[: len(children) - len(later)]):
            start_ns = child.began_ns
            while running and running[0][0] <= start_ns:
                _, _, ended_ns, ends_ns, before_ns, _ = heappop(running)
                if ended_ns > old_ns:
                    old_ns, own_ns = ended_ns, before_ns
                new_ns = max(new_ns, ends_ns)
            busy_ns, gap_ns = gap_until(start_ns)
            starts_ns = max(new_ns + gap_ns, began_ns)
            ended_ns = max(child.ended_ns, start_ns)
            ready_ns = ended_ns - (ended_ns - start_ns) * AHEAD_PERCENT // 100
            for one in rounds:
                starts_ns = one.starts(node.span, child, starts_ns, gap_ns, ready_ns)
            self.effective |= starts_ns != start_ns
            if self._removes and self._scenario.removes(node, child):
                ends_ns, self.effective = starts_ns, True
            else:
                starts[child] = starts_ns
                ends_ns = ended_ns + starts_ns - start_ns + self.grown.get(child, 0)
            heappush(running, (ready_ns, number, ended_ns, ends_ns, own_ns + busy_ns, child.is_try))
        for ready_ns, _, ended_ns, ends_ns, before_ns, is_try in running:
            if ready_ns <= end_ns or is_try:
                if ended_ns > old_ns:
                    old_ns, own_ns = ended_ns, before_ns
                new_ns = max(new_ns, ends_ns)
        busy_ns, gap_ns = gap_until(end_ns)
        ends_ns = max(new_ns + gap_ns, began_ns)
        self.grown[node] = ends_ns - end_ns
        # Nobody waited for spans that began after their parent's end.
        starts |= {child: child.began_ns + ends_ns - end_ns for child in later}
        laid = self.laid[node] = _Laid(starts, ends_ns, own_ns + busy_ns)
        return laid


class _Round:
    """Calls that are to run in parallel; a call beyond their number begins another round."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._left: Counter[str] = Counter()
        self._began_ns = self._ready_ns = 0

    def starts(self, parent: Span, child: Node, starts_ns: int, gap_ns: int, ready_ns: int) -> int:
        """Gives the new start of a child that would start at `starts_ns`, `gap_ns` after what it waited for."""
        name = self._calls.name_of(parent, child.span)
        if name is None:
            return starts_ns
        if not self._left[name] or self._ready_ns > child.began_ns:
            self._left = Counter(self._calls.names)
            self._began_ns, self._ready_ns = starts_ns, ready_ns
        else:
            starts_ns = min(starts_ns, self._began_ns + max(0, gap_ns))
        self._left[name] -= 1
        return starts_ns


def _rebuild(order: list[Node], moves: _Moves) -> Tree:
    by_ns = {order[0]: 0}
    nodes: dict[Node, Node] = {}
    for node in order:
        later_ns = by_ns[node]
        ends_later_ns = later_ns + moves.grown[node]
        span = node.span
        nodes[node] = replace(
            node,
            span=replace(span, start_ns=span.start_ns + later_ns, end_ns=span.end_ns + ends_later_ns),
            start_ns=node.start_ns + later_ns,
            end_ns=node.end_ns + ends_later_ns,
            began_ns=node.began_ns + later_ns,
            ended_ns=node.ended_ns + ends_later_ns,
        )
        by_ns |= {child: later_ns + start - child.began_ns for child, start in moves.laid[node].starts.items()}
    for node, now in nodes.items():
        now.children = [nodes[child] for child in node.children if child in nodes]
    by_id = {node.span.span_id: node for node in nodes.values()}
    calls = [node for node in nodes.values() if any(child.is_try for child in node.children)]
    tree = Tree([*nodes.values()], by_id, Quality(), nodes[order[0]], calls=calls)
    clip_children(tree)
    sort_children(tree)
    return tree


_NONE = Change()
_in_time = attrgetter("began_ns", "ended_ns")
