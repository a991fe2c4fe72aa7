"""Messages and other work that is handed on: who waited for it, and who did not."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hops.budget.any_system import budget_of_any, tree_of
from hops.traces.span import FOLLOWS_FROM, REF_TYPE

NOBODY = {"work:front": 99, "messaging:front": 1}
WAITED = {"work:front": 70, "messaging:front": 1, "messaging:front→worker": 9, "work:worker": 20}


def parts(spans):
    return dict(budget_of_any(tree_of(spans)).parts)


@pytest.mark.parametrize(
    "handling",
    [
        *(f"{began}..{ended}" for began, ended in ((104, 110), (100, 100), (100, 104), (96, 110), (60, 500))),
        *(f"50..52\n      `- worker process CONSUMER 52..{ended}" for ended in (150, 700)),
    ],
)
def test_nobody_waits_for_a_message_that_is_handled_after_the_answer(draw, handling):
    spans = draw(f"""
front get         SERVER 0..100
`- front publish   PRODUCER 40..41
   `- worker receive CONSUMER {handling}
""")
    assert parts(spans) == NOBODY
    assert budget_of_any(tree_of(spans)).quality.complete


CASES = {
    # The root lasts longer for other reasons: it calls stock.
    "the answer that counts is that of the span which sent the message": ("""
front get               SERVER 0..300
|- front GET             CLIENT 10..110
|  `- middle get          SERVER 20..100
|     `- middle publish    PRODUCER 40..41
|        `- worker process  CONSUMER 104..180
`- front GET             CLIENT 120..290
   `- stock get           SERVER 130..280
""", {
        "work:front": 30, "wire:front→middle": 20, "work:middle": 79, "messaging:middle": 1,
        "wire:front→stock": 20, "work:stock": 150,
    }),
    # Most of the receipt was still ahead when the call began, so the message's transit is not on the path either.
    "nobody waits for a message in the shadow of a later call": ("""
front get         SERVER 0..100
|- front publish   PRODUCER 10..20
|  `- worker process CONSUMER 50..90
`- front GET       CLIENT 60..95
   `- stock get     SERVER 65..90
""", {"work:front": 55, "messaging:front": 10, "wire:front→stock": 10, "work:stock": 25}),
    "process below receive": ("""
front get           SERVER 0..100
`- front publish     PRODUCER 40..41
   `- worker receive  CONSUMER 50..52
      `- worker process CONSUMER 52..70
""", WAITED),
    "process below a batch below receive": ("""
front get             SERVER 0..100
`- front publish       PRODUCER 40..41
   `- worker receive    CONSUMER 50..52
      `- worker batch    CONSUMER 52..54
         `- worker poll   INTERNAL 53..54
            `- worker handle CONSUMER 54..70
""", WAITED),
    # Brave writes such spans.
    "a span without a kind handles what a receipt of no length took": ("""
front get           SERVER 0..100
`- front publish     PRODUCER 40..41
   `- worker poll     CONSUMER 50..51
      `- worker handle UNSPECIFIED 51..70
""", WAITED),
    "messages of a batch wait for each other": ("""
front get            SERVER 0..100
`- front publish      PRODUCER 40..41
   `- worker receive   CONSUMER 50..52
      |- worker process CONSUMER 53..60
      `- worker process CONSUMER 62..75
""", {"work:front": 65, "messaging:front": 1, "messaging:front→worker": 12, "work:worker": 22}),
    "a receipt is handled below a service without a sending": ("""
front get          SERVER 0..100
`- worker receive   CONSUMER 50..52
   `- worker process CONSUMER 52..70
""", {"work:front": 80, "work:worker": 20}),
    # There is work in the receipt, so a later span does not handle the message.
    "work that a receipt started and left is not waited for": ("""
front get           SERVER 0..100
`- front publish     PRODUCER 40..41
   `- worker process  CONSUMER 50..60
      |- worker parse  INTERNAL 51..55
      `- worker clean  INTERNAL 61..90
""", {"work:front": 80, "messaging:front": 1, "messaging:front→worker": 9, "work:worker": 10}),
}  # fmt: skip


@pytest.mark.parametrize(("drawing", "expected"), CASES.values(), ids=CASES)
def test_time_goes_where_the_caller_waited(draw, drawing, expected):
    assert parts(draw(drawing)) == expected


@pytest.mark.parametrize("sending", ["front publish   PRODUCER 40..41", "front listen    INTERNAL 40..90"])
@pytest.mark.parametrize("reverse_ids", [False, True])
def test_work_that_two_receipts_hand_on_is_moved_with_the_outer(draw, sending, reverse_ids):
    spans = draw(f"""
front get             SERVER 0..100
`- {sending}
   `- worker receive    CONSUMER 50..52
      `- worker batch     INTERNAL 51..68
         `- worker handle   CONSUMER 52..60
            `- worker step    CONSUMER 60..70
""")
    if reverse_ids:
        ids = {one.span_id: other.span_id for one, other in zip(spans, spans[::-1], strict=True)} | {"": ""}
        spans = [replace(one, span_id=ids[one.span_id], parent_id=ids[one.parent_id]) for one in spans]
    tree = tree_of(spans)
    reached = [tree.root]
    for node in reached:
        reached += node.children
    assert len(set(reached)) == len(reached) == len(tree.nodes)
    assert tree.quality.orphans == 0
    # The message waited from its sending until 50, and after `receive` for `step`.
    is_sending = "PRODUCER" in sending
    assert parts(spans) == {"work:front": 70 if is_sending else 80, "work:worker": 12} | (
        {"messaging:front": 1, "messaging:front→worker": 17} if is_sending else {"messaging:front→worker": 8}
    )


@pytest.mark.parametrize("kind", ["SERVER", "UNSPECIFIED", "INTERNAL"])
def test_what_receives_a_message_may_have_any_kind(draw, kind):
    """A function that a queue starts has a SERVER span; other receivers leave spans without a kind."""
    spans = draw(f"""
front get         SERVER 0..100
`- front publish   PRODUCER 40..41
   `- worker run    {kind} 50..70
""")
    assert parts(spans) == WAITED


def following(span):
    return replace(span, attributes={**span.attributes, REF_TYPE: FOLLOWS_FROM})


@pytest.mark.parametrize(("began", "ended"), [(50, 90), (50, 900), (200, 300)])
def test_nobody_waits_for_a_span_that_follows_its_parent(draw, began, ended):
    get, job, query = draw(f"""
front get        SERVER 0..100
`- worker job     UNSPECIFIED {began}..{ended}
   `- worker query CLIENT {began + 10}..{ended - 10} db.system=mysql
""")
    tree = tree_of([get, following(job), query])
    budget = budget_of_any(tree)
    assert dict(budget.parts) == {"work:front": 100}
    assert budget.quality.complete
    assert (budget.quality.followers, budget.quality.orphans, budget.quality.two_roots) == (1, 0, 0)
    # Although it is off the critical path, the span is still counted, like the shorter spans of a fan-out.
    assert dict(budget.crossings) == {"work:front": 1, "work:worker": 1, "db:worker": 1}


def test_a_call_that_its_callee_follows_waits_for_no_answer(draw):
    """This is a one-way call: the caller only writes the request."""
    get, call, answer = draw("""
front get      SERVER 0..100
`- front notify CLIENT 40..50
   `- stock notify SERVER 45..90
""")
    budget = budget_of_any(tree_of([get, call, following(answer)]))
    assert dict(budget.parts) == {"work:front": 90, "wire:front→stock": 10}
    assert budget.quality.complete


def test_a_receipt_that_follows_its_sending(draw):
    """OpenTracing's messaging libraries write such spans."""
    get, send, receipt = draw("""
front get         SERVER 0..100
`- front publish   PRODUCER 40..41
   `- worker process CONSUMER 50..70
""")
    assert parts([get, send, following(receipt)]) == NOBODY


def test_a_span_that_is_linked_to_an_earlier_one_follows_it(draw):
    """The linked span is not a root, although it is the longest span without a parent."""
    get, job = draw("""
front get      SERVER 0..100
worker job      INTERNAL 50..900
""")
    budget = budget_of_any(tree_of([get, replace(job, links=((get.trace_id, get.span_id),))]))
    assert (dict(budget.parts), budget.journey) == ({"work:front": 100}, "front: get")
    assert (budget.quality.followers, budget.quality.two_roots, budget.quality.complete) == (1, 0, True)


@pytest.mark.parametrize(("parse_ns", "to"), [("0..10", "job"), ("0..10", "parse"), ("-5..10", "parse")])
def test_a_link_to_a_later_span_or_to_one_below_makes_no_follower(draw, parse_ns, to):
    get, parse, job = draw(f"""
front get      SERVER 0..100
`- front parse  INTERNAL {parse_ns}
worker job      INTERNAL 50..90
""")
    linked = {"job": job, "parse": parse}[to]
    budget = budget_of_any(tree_of([replace(get, links=((get.trace_id, linked.span_id),)), parse, job]))
    assert dict(budget.parts) == {"work:front": 100}
    assert (budget.journey, budget.quality.followers, budget.quality.orphans) == ("front: get", 0, 0)


def test_a_span_that_follows_a_lost_one_is_waited_for_by_nobody(draw):
    get, job = draw("""
front get      SERVER 0..100
worker job      INTERNAL 50..90 (parent lost)
""")
    budget = budget_of_any(tree_of([get, following(job)]))
    assert dict(budget.parts) == {"work:front": 100}
    assert (budget.quality.orphans, budget.quality.complete) == (1, False)


def test_spans_that_follow_each_other(draw):
    first, second = draw("""
front get      SERVER 0..100
worker job      INTERNAL 50..90
""")
    ring = [following(replace(first, parent_id=second.span_id)), following(replace(second, parent_id=first.span_id))]
    for end_to_end in (False, True):
        budget = budget_of_any(tree_of(ring, end_to_end=end_to_end))
        assert dict(budget.parts) == {"work:front": 100}
