"""How far the clocks of services are apart: from calls whose offset is known."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from hops.budget.any_system import budget_of_any, tree_of
from hops.traces.clocks import Clocks, correct_spans, offsets_ns
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
