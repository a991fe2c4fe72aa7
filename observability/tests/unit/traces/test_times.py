"""Impossible times, and spans that were not finished."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hops.budget.any_system import budget_of_any, tree_of
from hops.traces.clocks import correct_spans

TODAY = 1_750_000_000 * 10**9
YEAR = 365 * 86_400 * 10**9


def budget(spans):
    return budget_of_any(tree_of(spans))


IMPOSSIBLE = {
    "begins at 0": (0, TODAY),
    "begins soon after 1970": (17_220_185_000, TODAY),
    "is of 1970": (17_220_185_000, 17_220_185_100),
    "in microseconds": (TODAY // 1_000, TODAY // 1_000 + 100),
    "ends in 1970": (TODAY, 17_220_185_000),
    "begins before 1970": (-5, TODAY),
    "ends before it begins": (TODAY + 100, TODAY),
    "ends after 2100": (TODAY, 2**63 - 1),
    "is of 2200": (TODAY + 175 * YEAR, TODAY + 175 * YEAR + 100),
    "takes years": (TODAY - 35 * YEAR, TODAY),
}


@pytest.mark.parametrize(("start_ns", "end_ns"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_a_trace_whose_root_has_impossible_times_is_left_out(draw, start_ns, end_ns):
    root, child = draw("""
shop get      SERVER 0..100
`- stock get   SERVER 10..90
""")
    tree = tree_of([replace(root, start_ns=start_ns, end_ns=end_ns), child])
    assert budget_of_any(tree) is None
    assert (tree.quality.left_out, tree.quality.empty, tree.quality.complete) == (1, 0, False)


@pytest.mark.parametrize("wrong", [name for name in IMPOSSIBLE if name not in ("is of 1970", "in microseconds")])
def test_a_root_alone_is_complete(draw, wrong):
    """All times of a trace that a program made up are in 1970: they count from 0."""
    (root,) = draw("shop get      SERVER 0..100")
    start_ns, end_ns = IMPOSSIBLE[wrong]
    assert budget([replace(root, start_ns=start_ns, end_ns=end_ns)]) is None
    assert budget([replace(root, start_ns=17_220_185_000, end_ns=17_220_185_100)]).total_ns == 100


@pytest.mark.parametrize("wrong", [name for name in IMPOSSIBLE if name != "ends before it begins"])
def test_a_span_of_another_year_is_placed_around_what_is_below_it(draw, wrong):
    root, child, query = draw("""
shop get        SERVER 0..100
`- stock get     SERVER 20..80
   `- stock query INTERNAL 30..70
""")
    start_ns, end_ns = IMPOSSIBLE[wrong]
    one = budget([root, replace(child, start_ns=start_ns, end_ns=end_ns), query])
    assert dict(one.parts) == {"work:shop": 60, "work:stock": 40}
    assert (one.quality.misdated, one.quality.left_out) == (1, 0)


def test_another_root_is_chosen_where_there_is_one(draw):
    root, other = draw("""
shop get      SERVER 0..100
shop put      SERVER 0..80
""")
    assert budget([replace(root, start_ns=17_220_185_000), other]).journey == "shop: put"


def test_a_call_without_an_end_lasts_as_long_as_its_answer(draw):
    get, call, answer = draw("""
shop get      SERVER 0..100
`- shop GET    CLIENT 10..90
   `- stock get SERVER 20..80
""")
    for end_ns in (0, call.start_ns):  # missing, or a duration of 0
        one = budget([get, replace(call, end_ns=end_ns), answer])
        assert dict(one.parts) == {"work:shop": 30, "wire:shop→stock": 10, "work:stock": 60}
        assert (one.quality.unfinished, one.quality.complete) == (1, False)
        assert one.quality.outlived == 0


def test_spans_without_an_end_below_each_other(draw):
    get, call, answer, query = draw("""
shop get        SERVER 0..100
`- shop GET      CLIENT 10..90
   `- stock get   SERVER 20..80
      `- stock query CLIENT 30..70 db.system=mysql
""")
    one = budget([get, replace(call, end_ns=0), replace(answer, end_ns=0), query])
    assert dict(one.parts) == {"work:shop": 40, "wire:shop→stock": 10, "work:stock": 10, "db:stock": 40}
    assert one.quality.unfinished == 2


@pytest.mark.parametrize("kind", ["SERVER", "INTERNAL", "CONSUMER"])
def test_a_root_without_an_end_lasts_as_long_as_what_is_below_it(draw, kind):
    root, child = draw(f"""
shop get      {kind} 0..100
`- shop query  CLIENT 10..90 db.system=mysql
""")
    one = budget([replace(root, end_ns=0), child])
    assert dict(one.parts) == {"work:shop": 10, "db:shop": 80}
    assert one.quality.unfinished == 1
    alone = tree_of([replace(root, end_ns=0)])
    assert budget_of_any(alone) is None
    assert alone.quality.left_out == 1


def test_a_sending_without_an_end_does_not_last_until_the_message_was_handled(draw):
    get, send, receipt = draw("""
shop get        SERVER 0..100
`- shop publish  PRODUCER 40..41
   `- mail process CONSUMER 50..70
""")
    one = budget([get, replace(send, end_ns=0), receipt])
    assert dict(one.parts) == {"work:shop": 70, "messaging:shop→mail": 10, "work:mail": 20}


def test_a_sending_or_receipt_that_took_no_time_is_finished(draw):
    spans = draw("""
shop get        SERVER 0..100
`- shop publish  PRODUCER 40..40
   `- mail receive CONSUMER 50..50
      `- mail process CONSUMER 50..70
""")
    assert budget(spans).quality.unfinished == 0


def test_corrected_clocks_give_no_span_an_end(draw):
    get, call = draw("""
shop get      SERVER 0..100
`- shop GET    CLIENT 10..90
""")
    assert correct_spans([replace(call, end_ns=0)], {"shop": 5})[0].end_ns == 0
    assert correct_spans([get], {"shop": 5})[0].end_ns == get.end_ns - 5
