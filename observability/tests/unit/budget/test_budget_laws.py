"""What must be true of the budget of any trace, however broken."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hops.budget.budget import budget_of_tree
from hops.traces.critical_path import AHEAD_PERCENT, walk
from hops.traces.span import Kind, Span
from hops.traces.tree import grow

SERVICES = ("client", "edge", "graphql-gateway", "order", "product-sidecar")
NAMES = ("start_lag", "pool.acquire", "call")


@st.composite
def traces(draw, longest=200, duplicates=False):
    """Random trees: overlapping, skewed, outliving and backwards spans, lost parents, rings and several roots."""
    count = draw(st.integers(1, 40))
    spans = []
    for index in range(count):
        parent = draw(st.integers(0, count + 1)) if index else 0
        start = draw(st.integers(0, longest))
        span_id = draw(st.integers(2, count + 1)) if duplicates and index else index + 1
        spans.append(
            Span(
                trace_id="1" * 32,
                span_id=f"{span_id:016x}",
                parent_id=f"{parent:016x}" if parent else "",
                name=draw(st.sampled_from(NAMES)),
                kind=draw(st.sampled_from(list(Kind))),
                service=draw(st.sampled_from(SERVICES)),
                start_ns=start,
                end_ns=start + draw(st.integers(-5, longest)),
                attributes=draw(st.sampled_from(({}, {"db.system.name": "postgresql"}))),
            )
        )
    return draw(st.permutations(spans))


@given(traces())
def test_parts_add_up_to_the_nanosecond_and_none_is_negative(spans):
    budget = budget_of_tree(grow(spans))
    assert budget is not None
    assert sum(budget.parts.values()) == budget.total_ns
    assert all(ns > 0 for ns in budget.parts.values())


@given(traces())
def test_the_path_covers_the_root_exactly_once(spans):
    root = grow(spans).root
    assert root is not None
    moment = root.end_ns
    for node, start_ns, end_ns in walk(root):
        assert end_ns == moment
        assert node.start_ns <= start_ns < end_ns <= node.end_ns
        moment = start_ns
    assert moment == root.start_ns


@given(traces())
def test_children_end_up_inside_their_parents(spans):
    for node in grow(spans).nodes:
        if node.parent is not None and not _in_a_ring(node):
            assert node.parent.start_ns <= node.start_ns <= node.end_ns <= node.parent.end_ns


@given(st.data())
def test_the_order_of_arrival_decides_nothing(data):
    # Few different times: spans that start and end together are the rule.
    spans = data.draw(traces(longest=4, duplicates=True))
    budget, again = (budget_of_tree(grow(data.draw(st.permutations(spans)))) for _ in range(2))
    assert budget == again
    assert budget is not None
    assert again is not None
    assert list(budget.parts.items()) == list(again.parts.items())


@given(traces())
def test_the_path_is_that_of_the_definition(spans):
    root = grow(spans).root
    assert root is not None
    owners = {at: node for node, start_ns, end_ns in walk(root) for at in range(start_ns, end_ns)}
    assert owners == defined_path(root)


def defined_path(root):
    """Who has each nanosecond, by the definition alone: at each moment all children are looked at anew."""
    owners = {}

    def follow(node, moment, seen_until):
        """Gives `node` and those below it what lies before `seen_until`, on the path back from `moment`."""
        while True:
            finished = [child for child in node.children if child.began_ns < moment and counts(child, moment)]
            if not finished:
                break
            last = max(finished, key=lambda one: (one.ended_ns, -one.began_ns, -int(one.span.span_id, 16)))
            end_ns = min(last.ended_ns, moment)
            own(node, end_ns, min(moment, seen_until))
            follow(last, last.span.end_ns if last.is_try else end_ns, min(end_ns, seen_until))
            moment = last.began_ns
        own(node, node.began_ns, min(moment, seen_until))

    def own(node, start_ns, end_ns):
        owners.update((at, node) for at in range(start_ns, end_ns))

    def counts(child, moment):
        length, ahead = child.ended_ns - child.began_ns, child.ended_ns - moment
        return length > 0 and (ahead <= 0 or child.is_try or ahead / length <= AHEAD_PERCENT / 100)

    follow(root, root.end_ns, root.end_ns)
    return owners


def _in_a_ring(node):
    seen = set()
    while node.parent is not None:
        if id(node) in seen:
            return True
        seen.add(id(node))
        node = node.parent
    return False
