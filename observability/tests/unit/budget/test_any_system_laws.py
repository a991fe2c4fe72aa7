"""Whatever a trace holds, the parts of its budget add up to its root, to the nanosecond."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hops.analysis.of_traces.operations import analyse, operations_of
from hops.budget.any_system import budget_of_any, tree_of
from hops.budget.bands import banded_budgets, exemplars
from hops.run.rows import hops_frame
from hops.traces.span import Kind, Span

TIMES = st.integers(-50, 300) | st.just(0)
IDS = st.integers(0, 12)
ATTRIBUTES = st.dictionaries(
    st.sampled_from(["db.system", "peer.service", "server.address", "messaging.system", "response_flags", "canceled"]),
    st.sampled_from(["mysql", "redis", "a", "b", "UF", "true", ""]),
    max_size=2,
)


@st.composite
def spans(draw):
    """Any spans at all: twice the same id, rings, several roots and none, times before 1970, links to anywhere."""
    return [
        Span(
            "1" * 32,
            f"{draw(IDS):016x}",
            draw(st.just("") | IDS.map("{:016x}".format)),
            draw(st.sampled_from(["get", "wait for a", "link_up", "pool.acquire"])),
            draw(st.sampled_from(list(Kind))),
            draw(st.sampled_from(["a", "b", "client", "edge", "a-inbound"])),
            draw(TIMES),
            draw(TIMES),
            draw(ATTRIBUTES),
            tuple(("1" * 32, f"{one:016x}") for one in draw(st.lists(IDS, max_size=2))),
        )
        for _ in range(draw(st.integers(1, 14)))
    ]


@given(spans())
def test_parts_add_up(trace):
    tree = tree_of(trace)
    budget = budget_of_any(tree)
    assert budget is not None
    assert budget.gap_ns == 0
    assert all(ns >= 0 for ns in budget.parts.values())
    assert budget_of_any(tree_of(trace[::-1])).parts == budget.parts


@given(st.lists(spans(), min_size=1, max_size=4))
def test_so_do_those_of_operations_also_with_corrected_clocks(traces):
    named = {f"{number:032x}": [replace_id(span, number) for span in trace] for number, trace in enumerate(traces, 1)}
    for correct in (False, True):
        analysed = analyse(named, correct_clocks=correct)
        assert analysed.trust.gap_ns == 0
        operations = operations_of(analysed.budgets)
        assert sum(one.traces for one in operations) == len(traces)
        for one in operations:
            assert sum(one.parts_ns.values()) == one.total_ns


def replace_id(span, number):
    return Span(f"{number:032x}", *(getattr(span, name) for name in Span.__struct_fields__[1:]))


@given(st.lists(st.integers(1, 400), min_size=1, max_size=150))
def test_bands_are_those_of_a_run(totals):
    """Without Polars as with it."""
    traces = {f"{number:032x}": [Span(f"{number:032x}", "1" * 16, "", "get", Kind.SERVER, "a", 1, 1 + ns)]
              for number, ns in enumerate(totals, 1)}  # fmt: skip
    budgets = analyse(traces).budgets
    (operation,) = operations_of(budgets)
    rows = hops_frame(budgets)
    for band, parts in banded_budgets(rows).items():
        assert operation.budget_ms[band] == pytest.approx(parts)
    assert operation.exemplars == exemplars(rows)["a: get"]
