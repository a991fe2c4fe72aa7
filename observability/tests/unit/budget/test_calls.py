"""The time that a call between two components takes, with and without sidecars."""

from __future__ import annotations

from hops.budget.parts import DELAY_TOOK, LOOP_BUSY, LOOP_RESTED, calls_of
from hops.traces.tree import grow

WITHOUT_SIDECARS = """
client browse                    INTERNAL 0..100
`- client POST                   CLIENT   5..95
   `- edge ingress               SERVER   10..90
      `- edge router             CLIENT   12..88
         `- order Get            SERVER   20..80
            |- order SELECT      CLIENT   22..30 db.system.name=postgresql
            `- order Reserve     CLIENT   35..75
               `- product Reserve SERVER  40..70
"""

WITH_SIDECARS = """
order Checkout                          SERVER   0..100
|- order Reserve                        CLIENT   10..90
|  `- order-outbound ingress            SERVER   12..88
|     `- order-outbound router          CLIENT   14..86
|        `- product-inbound ingress     SERVER   20..80
|           `- product-inbound router   CLIENT   22..78
|              `- product Reserve       SERVER   25..75
`- order GetUser                        CLIENT   11..60
   `- order-outbound ingress            SERVER   12..59
"""

TRIED_TWICE_BY_THE_SIDECAR = """
order Checkout                          SERVER   0..100
`- order GetUser                        CLIENT   10..90
   `- order-outbound ingress            SERVER   12..88
      |- order-outbound router          CLIENT   14..30
      |  `- user-inbound ingress        SERVER   15..29
      |     `- user-inbound router      CLIENT   16..28
      |        `- user GetUser          SERVER   17..27
      `- order-outbound router          CLIENT   40..86
         `- user-inbound ingress        SERVER   42..84
            `- user-inbound router      CLIENT   44..82
               `- user GetUser          SERVER   50..80
"""

EACH_TRY_HAS_A_SPAN_OF_THE_LIBRARY = """
order Checkout                    SERVER   0..100
`- order GetUser                  CLIENT   10..90
   `- order GetUser               CLIENT   20..85
      `- user GetUser             SERVER   30..80
"""

HELD_UP = f"""
order GetUser           CLIENT 10..90
`- user GetUser         SERVER 60..85 {LOOP_BUSY}=0.0005 {LOOP_RESTED}=0.00001 {DELAY_TOOK}=0.000007
"""


def calls(spans):
    """Returns the calls of a trace, by caller and callee."""
    return sorted(calls_of(grow(spans)), key=lambda call: (call.caller, call.callee))


def between(draw, tree: str, *expected: tuple[str, str, int]) -> None:
    unit = draw("a b SERVER 0..1")[0]
    ns = unit.end_ns - unit.start_ns
    found = [(call.caller, call.callee, call.between_ns) for call in calls(draw(tree))]
    assert found == [(caller, callee, length * ns) for caller, callee, length in expected]


def test_a_call_has_what_kept_it_waiting(draw):
    [call] = calls(draw(HELD_UP))
    assert (call.ahead_ns, call.queued_ns, call.injected_ns) == (50, 40, 7)
    assert call.began_ns == draw(HELD_UP)[1].start_ns


def test_a_call_less_its_answer_is_the_time_between_the_two(draw):
    between(draw, WITHOUT_SIDECARS, ("client", "edge", 10), ("edge", "order", 16), ("order", "product", 10))


def test_sidecars_are_between_the_components_and_a_call_without_an_answer_is_none(draw):
    between(draw, WITH_SIDECARS, ("order", "product", 30))


def test_the_last_try_answers_a_call(draw):
    between(draw, TRIED_TWICE_BY_THE_SIDECAR, ("order", "user", 50))


def test_a_try_of_the_library_is_no_separate_call(draw):
    between(draw, EACH_TRY_HAS_A_SPAN_OF_THE_LIBRARY, ("order", "user", 30))
