"""The parts of the budget of any trace add up to its root, to the nanosecond."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from hops.analysis.of_traces.operations import analyse, operations_of
from hops.budget.any_system import budget_of_any, tree_of
from hops.budget.bands import banded_budgets, exemplars
from hops.run.rows import hops_frame
from hops.traces.foreign import YEAR_NS
from hops.traces.proxies import APART
from hops.traces.span import FOLLOWS_FROM, REF_TYPE, Kind, Span
from synthetic.traces import shop_trace

TIMES = st.integers(-50, 300) | st.just(0)
EPOCH_NS = 1_750_000_000 * 10**9
CANNOT_BE = (17 * 10**9, EPOCH_NS // 1000, 2**63 - 1)
"""Impossible times: soon after 1970, microseconds taken for nanoseconds, and the largest number."""
IDS = st.integers(0, 12)
VALUES = {
    "db.system": st.sampled_from(["mysql", "redis"]),
    "peer.service": st.sampled_from(["a", "b", "pay", ""]),
    "server.address": st.sampled_from(["a.default.svc", "pay.example.com", "-"]),
    "url.full": st.sampled_from(["http://b:80/", "/relative", "https://pay.example.com"]),
    "upstream_cluster": st.sampled_from(["inbound|80||", "outbound|80||b", "outbound|80||pay.example.com", "-"]),
    "response_flags": st.sampled_from(["-", "UF", "NR", "DC"]),
    "canceled": st.just("true"),
    "dns.question.name": st.just("b"),
    "subgraph.name": st.sampled_from(["a", "b"]),
    "messaging.system": st.just("kafka"),
    REF_TYPE: st.just(FOLLOWS_FROM),
}
ATTRIBUTES = st.lists(st.sampled_from(list(VALUES)), max_size=3, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: VALUES[name] for name in names})
)
NAMES = ["get", "wait for a", "link_up", "pool.acquire", "dns.lookup"]
SERVICES = ["a", "b", "client", "edge", "a-inbound", "istio-proxy"]


def span_of(draw, span_id, parent_id, kind, start_ns, end_ns):
    links = tuple(("1" * 32, f"{one:016x}") for one in draw(st.lists(IDS, max_size=2)))
    name, service = draw(st.sampled_from(NAMES)), draw(st.sampled_from(SERVICES))
    return Span("1" * 32, span_id, parent_id, name, kind, service, start_ns, end_ns, draw(ATTRIBUTES), links)


@st.composite
def spans(draw):
    """Spans of any kind: with duplicate ids, cycles, no root or several roots, and links to anywhere. Their times begin
    today or at 0, and may be missing or impossible."""
    epoch = draw(st.sampled_from([0, EPOCH_NS]))
    times = (
        TIMES.map(epoch.__add__) if draw(st.booleans()) else TIMES.map(epoch.__add__) | st.sampled_from((0, *CANNOT_BE))
    )
    kinds = st.sampled_from(list(Kind))
    parents = st.just("") | IDS.map("{:016x}".format)
    return [
        span_of(draw, f"{draw(IDS):016x}", draw(parents), draw(kinds), draw(times), draw(times))
        for _ in range(draw(st.integers(1, 14)))
    ]


@st.composite
def calls(draw):
    """A tree of calls and answers: proxies, CLIENT below CLIENT, answers next to calls, and concurrent equal calls."""
    made = [span_of(draw, f"{1:016x}", "", Kind.SERVER, 0, 300)]

    def add(parent_id, kind, start_ns, end_ns, *, named_as=None):
        span = span_of(draw, f"{len(made) + 1:016x}", parent_id, kind, start_ns, end_ns)
        if named_as is not None:
            span = replace(span, name=named_as.name, service=named_as.service, attributes=named_as.attributes)
        made.append(span)
        return span

    for _ in range(draw(st.integers(1, 8))):
        above = draw(st.sampled_from(made))
        start_ns = draw(st.integers(above.start_ns, above.end_ns))
        end_ns = draw(st.integers(start_ns, above.end_ns + 10))
        kind = draw(st.sampled_from([Kind.CLIENT, Kind.CLIENT, Kind.SERVER, Kind.INTERNAL]))
        call = add(above.span_id, kind, start_ns, end_ns)
        answered = draw(st.sampled_from(["not", "below", "beside", "below, for two calls"]))
        if answered != "not":
            parent_id = above.span_id if answered == "beside" else call.span_id
            add(parent_id, Kind.SERVER, start_ns + 1, max(start_ns + 1, end_ns - 1))
        if "two" in answered:
            add(above.span_id, kind, start_ns, end_ns, named_as=call)
    return made


@given(spans() | calls())
def test_parts_add_up(trace):
    tree = tree_of(trace)
    budget, to_the_end = budget_of_any(tree), budget_of_any(tree_of(trace, end_to_end=True))
    if tree.quality.left_out:
        assert budget is to_the_end is None
        return
    for one in (budget, to_the_end):
        assert one.gap_ns == 0
        assert all(ns >= 0 for ns in one.parts.values())
        assert all(count <= one.crossings[part] for part, count in one.on_path.items())
        assert min(asdict(one.quality).values()) >= 0
        assert not any(APART in part for part in one.crossings)
    # The second budget also has the time after the root's end.
    assert to_the_end.total_ns == budget.total_ns + budget.after_ns
    assert to_the_end.after_ns == 0
    assert budget.total_ns < YEAR_NS
    assert budget_of_any(tree_of(trace[::-1])).parts == budget.parts
    assert budget_of_any(tree_of(trace[::-1], end_to_end=True)).parts == to_the_end.parts


@given(st.integers(0, 2**32), st.integers(6, 60), st.booleans())
def test_a_trace_of_the_shop_to_its_last_span_s_end(seed, size, mesh):
    trace = shop_trace(seed, size, mesh=mesh)
    budget, to_the_end = (budget_of_any(tree_of(trace, end_to_end=one)) for one in (False, True))
    assert to_the_end.gap_ns == 0
    assert to_the_end.total_ns == budget.total_ns + budget.after_ns


@given(st.lists(spans() | calls(), min_size=1, max_size=4))
def test_budgets_of_operations_add_up_with_corrected_clocks_too(traces):
    named = {f"{number:032x}": [replace_id(span, number) for span in trace] for number, trace in enumerate(traces, 1)}
    for correct, end_to_end in product((False, True), repeat=2):
        analysed = analyse(named, correct_clocks=correct, end_to_end=end_to_end)
        assert analysed.trust.gap_ns == 0
        operations = operations_of(analysed.budgets)
        assert sum(one.traces for one in operations) == len(traces) - analysed.trust.quality.left_out
        for one in operations:
            assert sum(one.parts_ns.values()) == one.total_ns


def replace_id(span, number):
    return Span(f"{number:032x}", *(getattr(span, name) for name in Span.__struct_fields__[1:]))


@given(st.lists(st.integers(1, 400), min_size=1, max_size=150))
def test_bands_are_those_of_a_run(totals):
    """The bands are the same with and without Polars."""
    traces = {f"{number:032x}": [Span(f"{number:032x}", "1" * 16, "", "get", Kind.SERVER, "a", 1, 1 + ns)]
              for number, ns in enumerate(totals, 1)}  # fmt: skip
    budgets = analyse(traces).budgets
    (operation,) = operations_of(budgets)
    rows = hops_frame(budgets)
    for band, parts in banded_budgets(rows).items():
        assert operation.budget_ms[band] == pytest.approx(parts)
    assert operation.exemplars == exemplars(rows)["a: get"]
