"""The time that a call between two components takes, with and without sidecars."""

from __future__ import annotations

import pytest

from hops.budget.parts import DELAY_TOOK, LOOP_BUSY, LOOP_RESTED, calls_of
from hops.traces.tree import grow

HELD_UP = f"""
order GetUser           CLIENT 10..90
`- user GetUser         SERVER 60..85 {LOOP_BUSY}=0.0005 {LOOP_RESTED}=0.00001 {DELAY_TOOK}=0.000007
"""
CASES = {
    "a call less its answer is the time between the two": ("""
client browse                    INTERNAL 0..100
`- client POST                   CLIENT   5..95
   `- edge ingress               SERVER   10..90
      `- edge router             CLIENT   12..88
         `- order Get            SERVER   20..80
            |- order SELECT      CLIENT   22..30 db.system.name=postgresql
            `- order Reserve     CLIENT   35..75
               `- product Reserve SERVER  40..70
""", [("client", "edge", 10), ("edge", "order", 16), ("order", "product", 10)]),
    "sidecars are between the components, and a call without an answer is none": ("""
order Checkout                          SERVER   0..100
|- order Reserve                        CLIENT   10..90
|  `- order-outbound ingress            SERVER   12..88
|     `- order-outbound router          CLIENT   14..86
|        `- product-inbound ingress     SERVER   20..80
|           `- product-inbound router   CLIENT   22..78
|              `- product Reserve       SERVER   25..75
`- order GetUser                        CLIENT   11..60
   `- order-outbound ingress            SERVER   12..59
""", [("order", "product", 30)]),
    "the last try of a sidecar answers a call": ("""
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
""", [("order", "user", 50)]),
    "a try of the library is no separate call": ("""
order Checkout                    SERVER   0..100
`- order GetUser                  CLIENT   10..90
   `- order GetUser               CLIENT   20..85
      `- user GetUser             SERVER   30..80
""", [("order", "user", 30)]),
}  # fmt: skip


def test_a_call_has_what_kept_it_waiting(draw):
    [call] = calls_of(grow(draw(HELD_UP)))
    assert (call.ahead_ns, call.queued_ns, call.injected_ns) == (50, 40, 7)
    assert call.began_ns == draw(HELD_UP)[1].start_ns


@pytest.mark.parametrize(("drawing", "expected"), CASES.values(), ids=CASES)
def test_a_call_takes_the_time_between_its_components(draw, drawing, expected):
    found = sorted((call.caller, call.callee, call.between_ns) for call in calls_of(grow(draw(drawing))))
    assert found == expected
