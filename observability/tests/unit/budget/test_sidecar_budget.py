"""Hop budgets of calls that go through sidecars."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hops.budget.parts import budget_of_tree, bypasses_sidecars
from hops.traces.tree import grow

from .test_parts import assert_budget

THROUGH_TWO_SIDECARS = """
client product                             INTERNAL 0..200 shop.journey=product
`- client GET                              CLIENT   5..195
   `- edge ingress                         SERVER   10..190
      `- edge router                       CLIENT   12..188
         `- edge-outbound egress           SERVER   15..186
            `- edge-outbound router        CLIENT   20..180
               `- order-inbound ingress    SERVER   30..170
                  `- order-inbound router  CLIENT   34..166
                     `- order Reserve      SERVER   40..160
                        `- order Reserve            CLIENT   50..150
                           `- order-outbound egress          SERVER   55..145
                              `- order-outbound router        CLIENT   60..140
                                 `- product-inbound ingress   SERVER   70..130
                                    `- product-inbound router CLIENT   75..125
                                       `- product Reserve     SERVER   80..120
"""

RETRIED_BY_A_SIDECAR = """
order Get                       CLIENT   0..200
`- order-outbound egress        SERVER   5..195
   |- order-outbound router     CLIENT   10..60 http.status_code=503
   |  `- product-inbound ingress SERVER  20..50
   |     `- product-inbound router CLIENT 25..45 response_flags=UF error=true
   `- order-outbound router     CLIENT   90..190 retry.count=1
      `- product-inbound ingress SERVER  100..180
         `- product-inbound router CLIENT 105..175
            `- product Get      SERVER   110..170
"""

GIVEN_UP_BEFORE_THE_CALLEE_SAW_IT = """
order Get                       CLIENT   0..200
`- order-outbound egress        SERVER   10..190
   `- order-outbound router     CLIENT   20..180
      `- product-inbound ingress SERVER  30..170
         `- product-inbound router CLIENT 40..160 canceled=true
"""

CASES = {
    "two sidecars on the way, and the wires on either side of each": (
        THROUGH_TWO_SIDECARS,
        "client 10, wire:client→edge 10, proxy:edge 4, wire:edge→edge-outbound 5, proxy:edge-outbound 11, "
        "wire:edge-outbound→order-inbound 20, proxy:order-inbound 8, wire:order-inbound→order 12, work:order 20, "
        "wire:order→order-outbound 10, proxy:order-outbound 10, wire:order-outbound→product-inbound 20, "
        "proxy:product-inbound 10, wire:product-inbound→product 10, work:product 40",
    ),
    "retried by a sidecar, after a try whose callee could not be connected": (
        RETRIED_BY_A_SIDECAR,
        "wire:order→order-outbound 10, proxy:order-outbound 40, wire:order-outbound→product-inbound 40, "
        "proxy:product-inbound 40, wire:product-inbound→product 10, work:product 60",
    ),
    "a fault that a sidecar injects: it answers itself": ("""
order Authorise                 CLIENT   0..100
`- order-outbound egress        SERVER   10..90 response_flags=FI http.status_code=503
""", "wire:order→order-outbound 20, proxy:order-outbound 80"),
    "a delay that a sidecar injects is its own": ("""
order Authorise                 CLIENT   0..200
`- order-outbound egress        SERVER   10..190 response_flags=DI
   `- order-outbound router     CLIENT   110..180
      `- payment-inbound ingress SERVER  120..170
         `- payment-inbound router CLIENT 125..165
            `- payment Authorise SERVER  130..160
""", "wire:order→order-outbound 20, proxy:order-outbound 110, wire:order-outbound→payment-inbound 20, "
     "proxy:payment-inbound 10, wire:payment-inbound→payment 10, work:payment 30"),
    "given up by the caller: the sidecars close one after the other, too late": ("""
order Get                       CLIENT   0..200
`- order-outbound egress        SERVER   10..205 response_flags=DC
   `- order-outbound router     CLIENT   20..210 canceled=true
      `- product-inbound ingress SERVER  30..215 response_flags=DR
         `- product-inbound router CLIENT 40..220 canceled=true
            `- product Get      SERVER   50..400
""", "wire:order→order-outbound 10, proxy:order-outbound 10, wire:order-outbound→product-inbound 10, "
     "proxy:product-inbound 10, wire:product-inbound→product 10, work:product 150; outlived 5"),
    "given up before the callee saw it: nobody knows what was waited for": (
        GIVEN_UP_BEFORE_THE_CALLEE_SAW_IT,
        "wire:order→order-outbound 20, proxy:order-outbound 20, wire:order-outbound→product-inbound 20, "
        "proxy:product-inbound 20, unattributed 120; given_up 1",
    ),
    "beyond a sidecar's limit of requests: it answers itself": ("""
order Get                       CLIENT   0..100
`- order-outbound egress        SERVER   10..90 http.status_code=503
   `- order-outbound router     CLIENT   20..80 response_flags=UO
""", "wire:order→order-outbound 20, proxy:order-outbound 80"),
    "streaming through sidecars": ("""
rest-gateway Stream                CLIENT   0..200
`- rest-gateway-outbound egress    SERVER   5..190
   `- rest-gateway-outbound router CLIENT   10..188
      `- order-inbound ingress     SERVER   20..170
         `- order-inbound router   CLIENT   22..168
            `- order Stream        SERVER   25..150
               |- order SELECT     CLIENT   30..60 db.system.name=postgresql
               `- order SELECT     CLIENT   70..140 db.system.name=postgresql
""", "wire:rest-gateway→rest-gateway-outbound 15, proxy:rest-gateway-outbound 7, "
     "wire:rest-gateway-outbound→order-inbound 28, proxy:order-inbound 4, wire:order-inbound→order 21, "
     "work:order 25, db:order 100"),
    "the canary is a separate component": ("""
order Get                       CLIENT   0..100
`- order-outbound egress        SERVER   10..90
   `- order-outbound router     CLIENT   20..80
      `- product-canary-inbound ingress SERVER 30..70
         `- product-canary-inbound router CLIENT 35..65
            `- product-canary Get SERVER 40..60
               `- product-canary SELECT CLIENT 45..55 db.system.name=postgresql
""", "wire:order→order-outbound 20, proxy:order-outbound 20, wire:order-outbound→product-canary-inbound 20, "
     "proxy:product-canary-inbound 10, wire:product-canary-inbound→product-canary 10, work:product-canary 10, "
     "db:product-canary 10"),
}  # fmt: skip


@pytest.mark.parametrize(("drawing", "expected"), CASES.values(), ids=CASES)
def test_time_goes_where_the_customer_waited(draw, drawing, expected):
    assert_budget(draw(drawing), expected)


def test_a_sidecar_is_crossed_once_however_often_it_tries(draw):
    budget = budget_of_tree(grow(draw(RETRIED_BY_A_SIDECAR)))
    assert budget.crossings == budget.on_path
    assert budget.crossings == {
        "wire:order→order-outbound": 1, "proxy:order-outbound": 1, "wire:order-outbound→product-inbound": 2,
        "proxy:product-inbound": 2, "wire:product-inbound→product": 1, "work:product": 1,
    }  # fmt: skip


def test_a_call_that_grpc_ended_at_its_deadline_was_given_up(draw):
    spans = draw(GIVEN_UP_BEFORE_THE_CALLEE_SAW_IT)
    ended = replace(spans[-1], attributes={"grpc.message": "Deadline Exceeded"})
    quality = grow([*spans[:-1], ended]).quality
    assert (quality.given_up, quality.missing_servers) == (1, 0)


def test_a_trace_may_still_get_what_a_call_that_was_given_up_lacks(draw):
    assert not grow(draw(GIVEN_UP_BEFORE_THE_CALLEE_SAW_IT)).quality.complete
    assert grow(draw(RETRIED_BY_A_SIDECAR)).quality.complete


def test_a_request_at_the_edge_has_the_span_that_its_sidecar_answers(draw):
    spans = draw(THROUGH_TWO_SIDECARS)
    budget = budget_of_tree(grow(spans))
    (request,) = budget.edge_requests
    by_name = {(span.service, span.name): span.span_id for span in spans}
    assert request.span_ids == (by_name["edge", "ingress"], by_name["client", "GET"], by_name["edge", "router"])
    assert request.ns == 180


THROUGH_SIDECARS = [
    "wire:client→edge", "wire:edge→edge-outbound", "wire:edge-outbound→rest-gateway-inbound",
    "wire:rest-gateway-inbound→rest-gateway", "wire:order-outbound→product-canary-inbound", "work:order", "db:order",
    "unattributed",
]  # fmt: skip
PAST_A_SIDECAR = [
    "wire:edge→rest-gateway", "wire:edge→rest-gateway-inbound", "wire:order→product", "wire:order→product-inbound",
    "wire:order→product-outbound", "wire:order-outbound→product", "wire:order-inbound→product",
    "wire:client→product-inbound", "wire:client→edge-outbound",
]  # fmt: skip


@pytest.mark.parametrize("part", THROUGH_SIDECARS + PAST_A_SIDECAR)
def test_the_ends_of_a_call_show_whether_it_bypassed_a_sidecar(part):
    assert bypasses_sidecars(part) is (part in PAST_A_SIDECAR)
