"""What must be true of the budget of any trace, however broken."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hops.budget import budget_of
from hops.critical_path import walk
from hops.span import Kind, Span
from hops.tree import grow

SERVICES = ("client", "edge", "graphql-gateway", "order", "product-sidecar")
NAMES = ("start_lag", "pool.acquire", "call")


@st.composite
def traces(draw):
    """Random trees: overlapping, skewed, outliving and backwards spans, lost parents, rings and several roots."""
    count = draw(st.integers(1, 40))
    spans = []
    for index in range(count):
        parent = draw(st.integers(0, count + 1)) if index else 0
        start = draw(st.integers(0, 200))
        spans.append(
            Span(
                trace_id="1" * 32,
                span_id=f"{index + 1:016x}",
                parent_id=f"{parent:016x}" if parent else "",
                name=draw(st.sampled_from(NAMES)),
                kind=draw(st.sampled_from(list(Kind))),
                service=draw(st.sampled_from(SERVICES)),
                start_ns=start,
                end_ns=start + draw(st.integers(-5, 200)),
                attributes=draw(st.sampled_from(({}, {"db.system.name": "postgresql"}))),
            )
        )
    return draw(st.permutations(spans))


@given(traces())
def test_parts_add_up_to_the_nanosecond_and_none_is_negative(spans):
    budget = budget_of(spans)
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


def _in_a_ring(node):
    seen = set()
    while node.parent is not None:
        if id(node) in seen:
            return True
        seen.add(id(node))
        node = node.parent
    return False
