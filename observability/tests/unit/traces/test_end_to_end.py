"""Traces to the end of their last span, including work that nobody waited for."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hops.budget.any_system import budget_of_any, tree_of
from hops.budget.retiming import Change, Scenario, retime
from hops.traces.span import FOLLOWS_FROM, REF_TYPE


def both(spans):
    """Returns the root's budget, the time after the root's end, and the budget to the last span's end."""
    budget, to_the_end = (budget_of_any(tree_of(spans, end_to_end=one)) for one in (False, True))
    assert to_the_end.total_ns == budget.total_ns + budget.after_ns
    assert to_the_end.gap_ns == to_the_end.after_ns == 0
    return dict(budget.parts), budget.after_ns, dict(to_the_end.parts)


CASES = {
    "a root that sends a message": ("""
front publish     PRODUCER 0..2
`- worker process  CONSUMER 60..110
""", (
        {"messaging:front": 2},
        108,
        {"messaging:front": 2, "messaging:front→worker": 58, "work:worker": 50},
    )),
    # Work of `middle` before it sent the message is on the way to the last span; its later work is not.
    "a message is sent deep inside of a call": ("""
front get               SERVER 0..100
`- front GET             CLIENT 10..90
   `- middle get          SERVER 12..88
      |- middle load       CLIENT 20..30 db.system=mysql
      |- middle publish    PRODUCER 40..41
      |  `- worker receive  CONSUMER 95..96
      |     `- worker process CONSUMER 97..110
      `- middle save       CLIENT 50..80 db.system=mysql
""", (
        {"work:front": 20, "wire:front→middle": 4, "work:middle": 35, "db:middle": 40, "messaging:middle": 1},
        10,
        {
            "work:front": 10, "wire:front→middle": 2, "work:middle": 18, "db:middle": 10, "messaging:middle": 1,
            "messaging:middle→worker": 55, "work:worker": 14,
        },
    )),
    "work that waits for a thread": ("""
front get      SERVER 0..100
`- front job    INTERNAL 150..200
""", ({"work:front": 100}, 100, {"work:front": 150, "queue:front": 50})),
    "two queues one after the other": ("""
front publish         PRODUCER 0..2
`- order process       CONSUMER 10..20
   `- order publish     PRODUCER 15..16
      `- mail process    CONSUMER 50..60
""", (
        {"messaging:front": 2},
        58,
        {
            "messaging:front": 2, "messaging:front→order": 8, "work:order": 5, "messaging:order": 1,
            "messaging:order→mail": 34, "work:mail": 10,
        },
    )),
    "nothing lies after a root that waits for all": ("""
front get      SERVER 0..100
`- front GET    CLIENT 10..90
   `- stock get SERVER 20..80
""", (
        {"work:front": 20, "wire:front→stock": 20, "work:stock": 60}, 0,
        {"work:front": 20, "wire:front→stock": 20, "work:stock": 60},
    )),
    "a callee that continues after its call gave up": ("""
front get      SERVER 0..100
`- front GET    CLIENT 10..50
   `- stock get  SERVER 20..400
""", (
        {"work:front": 60, "wire:front→stock": 10, "work:stock": 30}, 300,
        {"work:front": 10, "wire:front→stock": 10, "work:stock": 380},
    )),
    "a try that was given up and ended last": ("""
front get      SERVER 0..100
`- front GET    CLIENT 10..90
   |- stock get  SERVER 20..400
   `- stock get  SERVER 50..80
""", (
        {"work:front": 20, "wire:front→stock": 20, "work:stock": 60}, 300,
        {"work:front": 10, "wire:front→stock": 10, "work:stock": 380},
    )),
}  # fmt: skip


@pytest.mark.parametrize(("drawing", "expected"), CASES.values(), ids=CASES)
def test_the_time_to_the_end_is_that_of_the_root_and_what_comes_after(draw, drawing, expected):
    assert both(draw(drawing)) == expected


def test_spans_that_follow_and_further_roots(draw):
    get, job, other = draw("""
front get      SERVER 0..100
|- worker job   INTERNAL 50..130
other run       SERVER 120..220
""")
    following = replace(job, attributes={REF_TYPE: FOLLOWS_FROM})
    assert both([get, following]) == ({"work:front": 100}, 30, {"work:front": 50, "work:worker": 80})
    assert both([get, replace(other, end_ns=other.end_ns - 30)])[1:] == (
        90, {"work:front": 100, "queue:other": 20, "work:other": 70},
    )  # fmt: skip


def test_a_span_that_follows_and_is_over_first_is_on_no_path(draw):
    get, job, send, receipt = draw("""
front get         SERVER 0..100
|- worker job      INTERNAL 10..90
`- front publish   PRODUCER 95..96
   `- mail process  CONSUMER 110..120
""")
    following = replace(job, attributes={REF_TYPE: FOLLOWS_FROM})
    assert both([get, following, send, receipt])[2] == {
        "work:front": 95, "messaging:front": 1, "messaging:front→mail": 14, "work:mail": 10,
    }  # fmt: skip


def test_what_comes_after_the_answer_may_be_predicted(draw):
    tree = tree_of(
        draw("""
front publish     PRODUCER 0..2
`- worker process  CONSUMER 60..110
"""),
        end_to_end=True,
    )
    faster = retime(tree, Scenario(changes={"work:worker": Change(factor=0.5)}))
    assert dict(budget_of_any(faster).parts) == {
        "messaging:front": 2, "messaging:front→worker": 58, "work:worker": 25,
    }  # fmt: skip
