"""How far the clocks of services and nodes are apart: from calls whose offset is known."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from hops.budget.any_system import budget_of_any, tree_of
from hops.traces.clocks import Clocks, correct_spans, offsets_ns
from hops.traces.span import Kind, Span
from hops.traces.tree import grow
from synthetic.formats import foreign_trace

AHEAD_NS = {"product": 40_000_000, "order": -25_000_000}


def move(spans):
    return correct_spans(spans, {name: -ahead for name, ahead in AHEAD_NS.items()})


def clocks_of(traces):
    clocks = Clocks()
    for spans in traces:
        clocks.add(tree_of(spans))
    return clocks.estimates()


def test_one_clock_is_seen_as_one():
    estimates = clocks_of([foreign_trace(seed) for seed in range(30)])
    assert estimates
    assert not any(clock.differs for clock in estimates)
    assert not any(offsets_ns(estimates).values())


def test_offsets_are_found_within_their_bounds():
    estimates = clocks_of([move(foreign_trace(seed)) for seed in range(30)])
    differing = {clock.callee: clock for clock in estimates if clock.differs}
    assert differing.keys() == AHEAD_NS.keys()
    for name, ahead in AHEAD_NS.items():
        clock = differing[name]
        assert clock.low_ns <= ahead <= clock.high_ns
        assert clock.low_ns <= clock.ahead_ns <= clock.high_ns
    # Pairs with the largest offset come first.
    assert [clock.callee for clock in estimates[:2]] == ["product", "order"]


def test_corrected_spans_have_the_budget_of_one_clock_but_for_what_the_bounds_leave_open():
    traces = [foreign_trace(seed) for seed in range(30)]
    skewed = [move(spans) for spans in traces]
    offsets = offsets_ns(clocks_of(skewed))
    for true, wrong in zip(traces, skewed, strict=True):
        righted = tree_of(correct_spans(wrong, offsets))
        assert righted.quality.skewed <= tree_of(wrong).quality.skewed
        budget, wanted = budget_of_any(righted), budget_of_any(tree_of(true))
        assert budget.gap_ns == 0
        for part in ("work:product", "work:order"):
            assert budget.parts.get(part, 0) == pytest.approx(wanted.parts.get(part, 0), rel=0.2, abs=2_000_000)


def test_a_host_among_several_with_another_clock_is_seen(draw):
    call = draw("""
shop get       SERVER 0..100
`- shop GET     CLIENT 10..40
   `- stock get  SERVER 15..35
""")
    away = [*call[:2], replace(call[2], start_ns=call[2].start_ns + 50, end_ns=call[2].end_ns + 50)]
    [clock] = clocks_of([call, away, call, away])
    assert (clock.differs, clock.calls, clock.outside, clock.outside_ns) == (False, 4, 2, 25)


def test_a_few_spans_that_were_closed_late_hide_no_offset():
    rng = random.Random(5)
    traces = [move(foreign_trace(seed)) for seed in range(100)]
    late = [
        [replace(span, end_ns=span.end_ns + 60_000_000) if rng.random() < 0.004 else span for span in spans]
        for spans in traces
    ]
    assert {clock.callee for clock in clocks_of(late) if clock.differs} >= AHEAD_NS.keys()


NODES = {"gateway": "a", "order": "b", "product": "c"}


def call(caller, callee, *, ahead_ms=0.0, wire_us=(80, 120)):
    """Makes a call whose callee's clock is ahead, with given times on the wire in each direction."""
    start = 10**18
    begun = start + round(wire_us[0] * 1e3 + ahead_ms * 1e6)
    return [
        Span("t", "c", "", "call", Kind.CLIENT, caller, start, start + round(sum(wire_us) * 1e3) + 2_000_000),
        Span("t", "s", "c", "serve", Kind.SERVER, callee, begun, begun + 2_000_000),
    ]


def estimate_ms(calls):
    """Estimates how far the clock of each called node is ahead, ms."""
    clocks = Clocks(lambda span: NODES.get(span.service, ""))
    for spans in calls:
        clocks.add(grow(spans))
    return {clock.callee: clock.ahead_ns / 1e6 for clock in clocks.estimates()}


def test_clocks_of_nodes_are_compared_to_within_half_of_the_wire():
    for ahead in (0.0, 3.0, -7.5):
        calls = [call("gateway", "order", ahead_ms=ahead), call("gateway", "product", ahead_ms=-4.0)]
        assert estimate_ms(calls) == pytest.approx({"b": ahead, "c": -4.0}, abs=0.1)


def test_slow_calls_do_not_blur_the_estimate():
    rng = random.Random(4)
    quick = [call("gateway", "order", ahead_ms=2.0, wire_us=(50, 50)) for _ in range(30)]
    queued = [call("gateway", "order", ahead_ms=2.0, wire_us=(rng.uniform(5e3, 5e4), 50)) for _ in range(70)]
    assert estimate_ms(quick + queued) == pytest.approx({"b": 2.0}, abs=0.01)


def test_a_call_that_its_callee_outlived_says_nothing():
    sent, answer = call("gateway", "order")
    given_up = [sent, replace(answer, end_ns=sent.end_ns + 500_000_000)]
    assert estimate_ms([call("gateway", "order")] * 3 + [given_up]) == pytest.approx({"b": 0.0}, abs=0.1)


def test_calls_on_one_node_or_of_unknown_places_say_nothing():
    assert estimate_ms([call("gateway", "gateway", ahead_ms=5.0), call("gateway", "client", ahead_ms=5.0)]) == {}
