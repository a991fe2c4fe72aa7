"""Answers next to their calls, and calls that share an answer, as GraphQL gateways leave them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hops.budget.any_system import budget_of_any, tree_of


def parts(spans):
    tree = tree_of(spans)
    assert dict(budget_of_any(tree_of(spans[::-1])).parts) == dict(budget_of_any(tree).parts)
    return dict(budget_of_any(tree).parts)


CASES = {
    # Apollo's router passes on the context of its `subgraph` span in this way.
    "an answer below the span above the call": ("""
router request             SERVER 0..100
`- router subgraph          INTERNAL 14..89
   |- router subgraph_request CLIENT 15..70
   `- accounts POST            SERVER 18..66
""", {"work:router": 45, "wire:router→accounts": 7, "work:accounts": 48}, {"complete": True, "joined": 1}),
    # The router's span ends with the headers, the callee's with the body.
    "an answer that ends a little after its call": ("""
router request             SERVER 0..100
|- router subgraph_request  CLIENT 15..70
`- accounts POST             SERVER 18..72
""", {"work:router": 45, "wire:router→accounts": 3, "work:accounts": 52}, {}),
    # Hive's gateway passes on the context of the whole request in this way.
    "an answer below a span far above the call": ("""
gateway request                SERVER 0..100
|- gateway graphql.execute      INTERNAL 5..95
|  `- gateway subgraph.execute    CLIENT 10..90
|     `- gateway http.fetch         CLIENT 15..85
`- accounts POST                 SERVER 20..80
""", {"work:gateway": 20, "wire:gateway→accounts": 20, "work:accounts": 60}, {}),
    "an answer below the library's span and next to the request": ("""
gateway request            SERVER 0..100
`- gateway subgraph.execute CLIENT 10..90
   |- gateway http.fetch      CLIENT 15..85
   `- accounts POST            SERVER 20..80
""", {"work:gateway": 20, "wire:gateway→accounts": 20, "work:accounts": 60}, {}),
    "answers of one component, whose order makes no difference": ("""
router request        SERVER 0..100
|- router fetch        CLIENT 10..90
|- router fetch        CLIENT 11..91
|- accounts POST        SERVER 20..80
`- accounts POST        SERVER 21..79
""", {"work:router": 20, "wire:router→accounts": 22, "work:accounts": 58}, {"complete": True}),
    "an answer next to two calls that share it": ("""
router request        SERVER 0..100
|- router fetch        CLIENT 10..60
|- router fetch        CLIENT 12..61
`- accounts POST        SERVER 15..55
""", {"work:router": 51, "wire:router→accounts": 9, "work:accounts": 40},
     {"joined": 1, "shared": 1, "complete": True}),
    "tries without separate spans": ("""
router request        SERVER 0..100
|- router fetch        CLIENT 10..90
|- accounts POST        SERVER 15..40
`- accounts POST        SERVER 50..85
""", {"work:router": 20, "wire:router→accounts": 20, "work:accounts": 60}, {}),
}  # fmt: skip
NOT_JOINED = {
    "an ambiguous answer": ("""
router request        SERVER 0..100
|- router fetch        CLIENT 10..90
|- router fetch        CLIENT 11..91
|- accounts POST        SERVER 20..80
`- reviews POST         SERVER 21..79
""", {"joined": 0, "missing_servers": 2}),
    "one answer to one of two different calls": ("""
router request        SERVER 0..100
|- router accounts     CLIENT 10..90
|- router prices       CLIENT 11..91
`- accounts POST        SERVER 20..80
""", {"joined": 0, "missing_servers": 2}),
    "a span that began before the call": ("""
router request        SERVER 0..100
|- router fetch        CLIENT 20..90
`- accounts POST        SERVER 10..80
""", {"joined": 0}),
    "a call of another component": ("""
router request          SERVER 0..100
|- router fetch          CLIENT 10..60 subgraph.name=accounts
|  `- accounts POST        SERVER 15..55
`- router fetch          CLIENT 12..60 subgraph.name=reviews
""", {"shared": 0}),
}  # fmt: skip


@pytest.mark.parametrize(("drawing", "expected", "counts"), CASES.values(), ids=CASES)
def test_time_goes_where_the_caller_waited(draw, drawing, expected, counts):
    spans = draw(drawing)
    quality = tree_of(spans).quality
    assert parts(spans) == expected
    assert {name: getattr(quality, name) for name in counts} == counts


@pytest.mark.parametrize(("drawing", "counts"), NOT_JOINED.values(), ids=NOT_JOINED)
def test_what_may_be_no_answer_stays_where_it_is(draw, drawing, counts):
    quality = tree_of(draw(drawing)).quality
    assert {name: getattr(quality, name) for name in counts} == counts


def test_calls_side_by_side_each_get_the_answer_that_only_they_can_have(draw):
    spans = draw("""
router request        SERVER 0..100
|- router fetch        CLIENT 10..50
|- router fetch        CLIENT 12..60
|- accounts POST        SERVER 15..45
`- reviews POST         SERVER 20..55
""")
    tree = tree_of(spans)
    assert parts(spans) == {"work:router": 52, "wire:router→reviews": 13, "work:reviews": 35}
    assert budget_of_any(tree).crossings["wire:router→accounts"] == 1
    assert (tree.quality.complete, tree.quality.joined) == (True, 2)


def test_a_call_within_another_gets_the_answer_that_fits_both(draw):
    spans = draw("""
router request        SERVER 0..100
|- router slow         CLIENT 10..90
|- router quick        CLIENT 30..60
|- accounts POST        SERVER 15..85
`- reviews POST         SERVER 35..55
""")
    budget = budget_of_any(tree_of(spans))
    assert dict(budget.parts) == {"work:router": 20, "wire:router→accounts": 10, "work:accounts": 70}
    assert budget.crossings["wire:router→reviews"] == 1


def test_the_name_that_a_call_has_for_its_callee_decides(draw):
    spans = draw("""
router request        SERVER 0..100
|- router fetch        CLIENT 10..91 url.full=http://accounts:4001/graphql
|- router fetch        CLIENT 9..90 subgraph.name=reviews
|- accounts POST        SERVER 20..80
`- reviews POST         SERVER 21..79
""")
    budget = budget_of_any(tree_of(spans))
    assert dict(budget.parts) == {"work:router": 19, "wire:router→accounts": 21, "work:accounts": 60}
    assert budget.quality.joined == 2


@pytest.mark.parametrize("end", [59, 60, 62])
def test_a_call_that_waits_for_the_answer_of_another(draw, end):
    """One request serves both calls: its answer hangs below the first call, and the path goes through the other."""
    spans = draw(f"""
router request          SERVER 0..100
|- router fetch          CLIENT 10..60
|  `- accounts POST        SERVER 15..55
|     `- accounts select    CLIENT 20..50 db.system=mysql
`- router fetch          CLIENT 12..{end}
""")
    tree = tree_of(spans)
    budget = budget_of_any(tree)
    call_ns = end - 12 if end > 60 else 60 - 10
    assert dict(budget.parts) == {
        "work:router": 100 - call_ns, "wire:router→accounts": call_ns - 40, "work:accounts": 10, "db:accounts": 30,
    }  # fmt: skip
    # One request was made for two calls.
    assert dict(budget.crossings) == {
        "work:router": 1, "wire:router→accounts": 2, "work:accounts": 1, "db:accounts": 1,
    }  # fmt: skip
    assert (tree.quality.complete, tree.quality.shared) == (True, 1)


ASKING = {
    # Hive's gateway: a call that joins a request has no CLIENT span for it.
    "a call around the request": """
router request                SERVER 0..100
|- router operation            CLIENT 10..60 hive.graphql.subgraph.name=accounts
|  `- router http.inflight       INTERNAL 12..59
|     `- router http.client        CLIENT 14..58 url.full=http://10.0.0.7/graphql
|        `- accounts POST            SERVER 20..50
|- router operation            CLIENT 11..61 hive.graphql.subgraph.name=accounts
|  `- router http.inflight       INTERNAL 13..60
`- router last                 INTERNAL 61..90
""",
    # Apollo's: the call has no CLIENT span at all.
    "a span around the call": """
router request                SERVER 0..100
|- router subgraph             INTERNAL 10..60 apollo.subgraph.name=accounts
|  `- router subgraph_request    CLIENT 14..58
|     `- accounts POST            SERVER 20..50
`- router subgraph             INTERNAL 11..61 apollo.subgraph.name=accounts
""",
}


@pytest.mark.parametrize("drawing", ASKING.values(), ids=ASKING)
def test_a_gateway_that_says_which_spans_ask_a_subgraph(draw, drawing):
    budget = budget_of_any(tree_of(draw(drawing)))
    assert dict(budget.parts) == {"work:router": 50, "wire:router→accounts": 20, "work:accounts": 30}
    assert (budget.quality.complete, budget.quality.shared) == (True, 1)


@pytest.mark.parametrize("name", ["ask", "other"])
def test_spans_that_ask_a_subgraph_and_are_each_others_ancestors(draw, name):
    spans = draw(f"""
router request                SERVER 0..100
router ask                    INTERNAL 10..60 apollo.subgraph.name=accounts
|- router ask                    INTERNAL 10..60
`- router call                   CLIENT 14..58
   `- accounts POST                SERVER 20..50
router ask                    INTERNAL 11..61 apollo.subgraph.name=accounts
`- router {name}                 INTERNAL 11..61
""")
    for first, inner in ((1, 2), (5, 6)):
        spans[first] = replace(spans[first], parent_id=spans[inner].span_id)
    assert parts(spans) == {"work:router": 100}
    assert tree_of(spans).quality.shared == 1


@pytest.mark.parametrize("times", ["40..95", "70..90", "2..60", "12..45", "56..60"])
def test_a_call_that_did_not_end_with_the_other_lost_its_own_answer(draw, times):
    spans = draw(f"""
router request          SERVER 0..100
|- router fetch          CLIENT 10..60
|  `- accounts POST        SERVER 15..55
`- router fetch          CLIENT {times}
""")
    quality = tree_of(spans).quality
    assert (quality.missing_servers, quality.shared) == (1, 0)


def test_very_many_answers_next_to_their_calls(draw, steps_of):
    root, call, answer = draw("""
router request        SERVER 0..1000000
|- router fetch        CLIENT 10..20
`- accounts POST        SERVER 11..19
""")

    def tree_with(calls):
        spans = [root]
        for number in range(calls):
            by_ns = 5 * number
            for one, first in ((call, 1), (answer, 2)):
                moved = replace(one, start_ns=one.start_ns + by_ns, end_ns=one.end_ns + by_ns)
                spans.append(replace(moved, span_id=f"{10 * number + first + 100:016x}"))
        return tree_of(spans)

    tree = tree_with(10_000)
    assert (tree.quality.joined, tree.quality.missing_servers) == (10_000, 0)
    budget_of_any(tree)
    # If each answer were compared with all calls, twice as many would take four times as many steps.
    assert steps_of(lambda: tree_with(1_000)) < 2.5 * steps_of(lambda: tree_with(500))
