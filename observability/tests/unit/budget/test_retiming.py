"""What a trace's times would have been: laws that hold for any trace, and example trees with their results."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hops.budget.parts import budget_of_tree, part_of
from hops.budget.retiming import Calls, Change, Scenario, retime
from hops.traces.critical_path import walk
from hops.traces.span import Kind, Span
from hops.traces.tree import grow

from .test_budget_laws import traces

CHAIN = """
client checkout INTERNAL 0..100 shop.journey=checkout
`- order checkout CLIENT 0..100
   `- order checkout SERVER 10..90
      |- order /v1/ReserveStock CLIENT 20..40
      |  `- product ReserveStock SERVER 25..35
      `- order /v1/AuthorizePayment CLIENT 50..70
         `- payment AuthorizePayment SERVER 52..68
"""
"""One call after the other: every nanosecond is on the path."""
FAN = """
client browse INTERNAL 0..100 shop.journey=browse
|- client a CLIENT 10..50
|  `- product a SERVER 20..40
|- client b CLIENT 11..80
|  `- user b SERVER 20..70
`- client c CLIENT 82..95
   `- order c SERVER 85..90
"""
"""a and b run in parallel, c after both: product's call has 30 ns to spare."""


def total_ns(spans, scenario=None):
    """Returns the root's length, as recorded or as it would have been."""
    tree = grow(spans)
    root = ((scenario and retime(tree, scenario)) or tree).root
    return root.end_ns - root.start_ns


def change(part, factor=1.0, added_ns=0):
    return Scenario({part: Change(factor, added_ns)})


@given(traces())
def test_without_a_change_every_span_keeps_its_times(spans):
    tree = grow(spans)
    parts = {part_of(node) for node in tree.nodes}
    scenario = Scenario(dict.fromkeys(parts, Change()))
    kept = retime(tree, scenario)
    walked = [(tree.by_id[node.span.span_id], *times) for node, *times in walk(kept.root)]
    assert walked == list(walk(tree.root))
    assert all(node.span == tree.by_id[span_id].span for span_id, node in kept.by_id.items())


@given(traces(), st.integers(0, 500))
def test_a_part_that_is_not_on_the_path_can_get_faster_without_any_effect(spans, by_ns):
    tree = grow(spans)
    on_path = {part_of(node) for node, *_ in walk(tree.root)}
    for part in {part_of(node) for node in tree.nodes} - on_path:
        for scenario in (change(part, added_ns=-by_ns), change(part, 0.5)):
            assert total_ns(spans, scenario) <= total_ns(spans)


@given(traces(), st.integers(0, 500))
def test_no_delay_makes_a_trace_faster_and_none_delays_it_by_more_than_all_of_it(spans, by_ns):
    tree = grow(spans)
    for part in {part_of(node) for node in tree.nodes}:
        entered = sum(part_of(node) == part for node in tree.nodes)
        later_ns = total_ns(spans, change(part, added_ns=by_ns)) - total_ns(spans)
        assert 0 <= later_ns <= by_ns * entered


@given(traces(), st.sampled_from([0.0, 0.3, 2.5]))
def test_a_changed_trace_still_has_a_budget_that_adds_up(spans, factor):
    tree = grow(spans)
    scenario = Scenario({part_of(node): Change(factor) for node in tree.nodes})
    budget = budget_of_tree(retime(tree, scenario))
    assert budget.gap_ns == 0


class Program:
    """What a component does for a call: its work, and calls to other components in turn, some of them in parallel."""

    def __init__(self, service, steps):
        self.service, self.steps = service, steps

    def run(self, spans, parent, began, factor, added):
        """Runs the program on a clock and records spans; each component's work takes `factor` times as long, plus
        `added`."""
        span_id = f"{len(spans) + 1:016x}"
        spans.append(None)
        now = began + added.get(self.service, 0)
        for step in self.steps:
            if isinstance(step, int):
                now += step * factor.get(self.service, 1)
            else:
                now = max(called.run(spans, span_id, now, factor, added) for called in step)
        spans[int(span_id, 16) - 1] = Span("1" * 32, span_id, parent, "call", Kind.SERVER, self.service, began, now)
        return now


def programs():
    steps = st.integers(1, 50)
    services = st.sampled_from(["order", "user", "payment"])
    leaves = st.builds(Program, services, st.lists(steps, min_size=1, max_size=3))
    return st.recursive(
        leaves,
        lambda inner: st.builds(
            Program, services, st.lists(steps | st.lists(inner, min_size=1, max_size=3), min_size=1, max_size=5)
        ),
        max_leaves=25,
    )


@given(programs(), st.sampled_from([0, 1, 3]), st.integers(0, 100))
def test_what_programs_would_have_taken_is_what_they_take(program, factor, added_ns):
    """Compares a program run on slower and faster components with the prediction from its original trace."""
    spans: list[Span] = []
    program.run(spans, "", 0, {}, {})
    assert total_ns(spans, change("work:user", factor)) == program.run([], "", 0, {"user": factor}, {})
    assert total_ns(spans, change("work:user", added_ns=added_ns)) == program.run([], "", 0, {}, {"user": added_ns})


@pytest.mark.parametrize("part", ["work:product", "work:payment", "wire:order→payment", "work:order", "client"])
def test_on_a_chain_delays_add_up(draw, part):
    spans = draw(CHAIN)
    assert total_ns(spans, change(part, added_ns=7)) == 107
    both = Scenario({part: Change(added_ns=7), "wire:order→product": Change(added_ns=5)})
    assert total_ns(spans, both) == 112


@pytest.mark.parametrize(
    ("part", "factor", "expected"),
    [
        ("work:payment", 0.5, 92),  # of 16
        ("work:payment", 2.0, 116),
        ("wire:order→payment", 0.0, 96),  # of 2 and 2
        ("work:order", 0.5, 80),  # of 10, 10 and 20
    ],
)
def test_a_share_changes_the_own_time_wherever_it_lies(draw, part, factor, expected):
    assert total_ns(draw(CHAIN), change(part, factor)) == expected


def test_no_more_is_subtracted_than_there_is(draw):
    assert total_ns(draw(CHAIN), change("work:payment", added_ns=-6)) == 94
    assert total_ns(draw(CHAIN), change("work:payment", added_ns=-600)) == 84


WOULD_HAVE_TAKEN = {
    "what a part loses comes from the spans inside of it too": ("""
order checkout SERVER 0..100
`- order price INTERNAL 10..90
   `- order sum INTERNAL 20..80
""", [(change("work:order", added_ns=-50), 50), (change("work:order", added_ns=50), 150)]),
    "two equal calls side by side take as long as one": ("""
client root INTERNAL 0..100
`- order checkout SERVER 0..100
   |- order /v1/A CLIENT 10..40
   `- order /v1/B CLIENT 40..70
""", [(Scenario(parallel=(Calls("order", ("A", "B")),)), 70)]),
    "a repeated call runs parallel to its own neighbour": ("""
order checkout SERVER 0..100
|- order A CLIENT 0..20
|- order B CLIENT 20..40
|- order A CLIENT 40..60
`- order B CLIENT 60..80
""", [(Scenario(parallel=(Calls("order", ("A", "B")),)), 60),
      (Scenario(parallel=(Calls("order", ("A", "A", "B", "B")),)), 40)]),
    "a job that nobody waits for moves nothing": ("""
order checkout SERVER 0..100
|- order mail CLIENT 10..900
`- order later CLIENT 950..990
""", [(change("unattributed", added_ns=40), 100)]),
    "a callee that closes late is waited for": ("""
order root INTERNAL 0..100
`- order call CLIENT 0..100
   `- user call SERVER 10..120
""", [(change("work:user", added_ns=20), 120)]),
    # Of 2 ms on the way, 1 ms was spent waiting for the callee's event loop.
    "the time of a queue stays": ("""
client root INTERNAL 0..3000000
`- client call CLIENT 0..3000000
   `- user call SERVER 2000000..3000000 shop.loop.busy_ms=1.0 shop.loop.rested_ms=0.0
""", [(change("wire:client→user", 0.5), 2_500_000)]),
}  # fmt: skip


@pytest.mark.parametrize(("drawing", "outcomes"), WOULD_HAVE_TAKEN.values(), ids=WOULD_HAVE_TAKEN)
def test_a_scenario_changes_what_a_trace_would_have_taken(draw, drawing, outcomes):
    spans = draw(drawing)
    assert [total_ns(spans, scenario) for scenario, _ in outcomes] == [ns for _, ns in outcomes]


def test_a_sibling_that_had_time_to_spare_delays_nobody_until_it_is_spent(draw):
    spans = draw(FAN)
    assert total_ns(spans, change("work:product", added_ns=30)) == 100
    assert total_ns(spans, change("work:product", added_ns=31)) == 101
    assert total_ns(spans, change("work:user", added_ns=-50)) == 70  # then a is the last
    faster = retime(grow(spans), change("work:user", added_ns=-50))
    assert "work:product" in budget_of_tree(faster).parts


def test_parallel_calls_leave_the_time_between_them_where_it_is(draw):
    beside = Scenario(parallel=(Calls("order", ("ReserveStock", "AuthorizePayment")),))
    # The second call begins 10 ns after the first, because 10 ns of the caller's work precede it.
    assert total_ns(draw(CHAIN), beside) == 80
    again = retime(grow(draw(CHAIN)), beside)
    starts = {node.span.name: node.start_ns - again.root.start_ns for node in again.nodes}
    assert (starts["/v1/ReserveStock"], starts["/v1/AuthorizePayment"]) == (20, 30)


def test_calls_that_are_side_by_side_already_stay_so(draw):
    assert retime(grow(draw(FAN)), Scenario(parallel=(Calls("client", ("a", "b")),))) is None


def test_a_removed_call_takes_all_below_with_it(draw):
    for scenario in (
        Scenario(removed_parts=frozenset({"wire:order→payment"})),
        Scenario(removed_calls=(Calls("order", ("AuthorizePayment",)),)),
    ):
        left = retime(grow(draw(CHAIN)), scenario)
        assert {node.span.service for node in left.nodes} == {"client", "order", "product"}
        assert total_ns(draw(CHAIN), scenario) == 80


def test_a_chain_deeper_than_the_stack_is_no_problem():
    spans = [
        Span("1" * 32, f"{at + 1:016x}", f"{at:016x}" if at else "", "call", Kind.INTERNAL, "order", at, 20_000 - at)
        for at in range(9_000)
    ]
    assert total_ns(spans, change("work:order", 0.5)) == pytest.approx(10_000, abs=9_000)
