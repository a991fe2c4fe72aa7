"""Hop budgets of the cases that critical-path tools get wrong."""

from __future__ import annotations

import functools

import pytest
from msgspec.structs import asdict, replace

from hops.budget.parts import DELAY_TOOK, budget_of_tree, budgets_of, maker_of
from hops.traces.span import Kind, Span
from hops.traces.tree import grow

ONE_HOP = """
client browse                          INTERNAL 0..100 shop.journey=browse shop.channel=web
|- client start_lag                    INTERNAL 0..3
`- client POST                         CLIENT   5..95
   `- edge ingress                     SERVER   10..90
      `- edge router                   CLIENT   12..88
         `- graphql-gateway POST       SERVER   20..80
            `- graphql-gateway Get     CLIENT   25..75
               `- product Get          SERVER   30..70
                  |- product pool.acquire INTERNAL 32..36
                  `- product SELECT    CLIENT   36..60 db.system.name=postgresql
"""

# Envoy begins its span with the request's headers, when the body is still in transit, and ends it after the answer's
# last byte.
DISTANT_CUSTOMER = """
client checkout                        INTERNAL 0..200
`- client POST                         CLIENT   0..190
   |- client handshake                 INTERNAL 2..60
   |- client link_up                   INTERNAL 65..110
   |- edge ingress                     SERVER   80..152
   |  `- edge router                   CLIENT   85..150
   |     `- order POST                 SERVER   115..140
   `- client link_down                 INTERNAL 148..185
"""

PARALLEL_CHILDREN = """
graphql-gateway POST            SERVER   0..100
|- graphql-gateway GetOrder     CLIENT   10..90
|  `- order GetOrder            SERVER   12..88
`- graphql-gateway GetUser      CLIENT   11..60
   `- user GetUser              SERVER   13..58
"""

STEPS_INSIDE_A_COMPONENT = """
user Login                      SERVER   0..100
|- user SELECT                  CLIENT   5..20 db.system.name=postgresql
|- user audit                   INTERNAL 30..50
`- user argon2.verify           INTERNAL 25..90
"""

CASES = {
    # Each step ends a little after the next has taken the event over.
    "an update of an order, whose steps hand it over": ("""
client update                   CONSUMER 0..200 shop.journey=update
|- order send                   PRODUCER 0..30
|- order deliver                INTERNAL 32..110
|  `- order Notify              CLIENT   35..108
|     `- notification Notify    SERVER   45..100
|        `- notification INSERT CLIENT   50..95 db.system.name=postgresql
|- notification process         CONSUMER 80..130
`- notification push            INTERNAL 131..160
""", "outbox:order 30, work:order 3, wire:order→notification 10, work:notification 34, db:notification 30, "
     "outbox:notification 50, push 43"),
    "one hop": (
        ONE_HOP,
        "start_lag 3, client 7, wire:client→edge 10, proxy:edge 4, wire:edge→graphql-gateway 16, "
        "work:graphql-gateway 10, wire:graphql-gateway→product 10, work:product 12, pool:product 4, db:product 24",
    ),
    "a shared cache: a hit has its own part, a miss the rest of its way": ("""
client browse                          INTERNAL 0..100
|- client GET                          CLIENT   5..15
|  `- edge-cache GET                   SERVER   6..14 shop.edge_cache=hit
`- client GET                          CLIENT   20..95
   `- edge-cache GET                   SERVER   22..93 shop.edge_cache=miss
      `- edge-cache GET                CLIENT   25..90
         `- edge ingress               SERVER   50..60
""", "client 15, wire:client→edge-cache 6, hit:edge-cache 8, proxy:edge-cache 6, wire:edge-cache→edge 55, "
     "proxy:edge 10"),
    "a row that the cache lacks: asked for, read from the database, and stored": ("""
client browse                             INTERNAL 0..100 shop.journey=browse
`- client POST                            CLIENT   0..100
   `- product Get                         SERVER   30..70
      |- product GET                      CLIENT   32..38 db.system.name=valkey
      |- product pool.acquire             INTERNAL 38..42
      |- product SELECT                   CLIENT   42..60 db.system.name=postgresql
      `- product SET                      CLIENT   60..65 db.system.name=valkey
""", "wire:client→product 60, work:product 7, cache:product 11, pool:product 4, db:product 18"),
    "a distant customer: the time of the link is the network's, for any span of the edge": (
        DISTANT_CUSTOMER,
        "client 10, wire:client→edge 12, handshake 58, network 82, wire:edge→order 13, work:order 25",
    ),
    "a distant customer's requests side by side: the one in the shadow costs nothing": ("""
client order_status                    INTERNAL 0..100
|- client GET                          CLIENT   1..90
|  |- client link_up                   INTERNAL 2..22
|  |- order GET                        SERVER   23..59
|  `- client link_down                 INTERNAL 60..89
`- client GET                          CLIENT   2..98
   |- client link_up                   INTERNAL 3..23
   |- payment GET                      SERVER   25..66
   `- client link_down                 INTERNAL 67..96
""", "client 4, wire:client→payment 6, network 49, work:payment 41"),
    "a request whose connection another one had: waiting for that is no wire": ("""
client order_status                    INTERNAL 0..100
|- client GET                          CLIENT   1..51
|  |- client link_up                   INTERNAL 2..12
|  |- payment GET                      SERVER   13..35
|  `- client link_down                 INTERNAL 36..48
`- client GET                          CLIENT   2..98
   |- client waiting                   INTERNAL 3..50
   |- client link_up                   INTERNAL 51..61
   |- payment GET                      SERVER   62..84
   `- client link_down                 INTERNAL 85..97
""", "client 4, client:waiting 47, wire:client→payment 5, network 22, work:payment 22"),
    "a link that takes nothing": ("""
client order_status                    INTERNAL 0..100
`- client GET                          CLIENT   0..100
   |- client link_up                   INTERNAL 5..5
   |- edge ingress                     SERVER   10..95
   `- client link_down                 INTERNAL 90..90
""", "wire:client→edge 20, proxy:edge 80"),
    "a request that was given up on its way": ("""
client checkout                        INTERNAL 0..100
`- client POST                         CLIENT   0..100
   |- client link_up                   INTERNAL 5..100
   `- edge ingress                     SERVER   60..140
""", "wire:client→edge 5, network 95; outlived 1"),
    "parallel children: the one in the shadow costs nothing": (
        PARALLEL_CHILDREN,
        "work:graphql-gateway 20, wire:graphql-gateway→order 4, work:order 76",
    ),
    "siblings in turn": ("""
order Checkout                  SERVER   0..100
|- order GetUser                CLIENT   10..30
|  `- user GetUser              SERVER   12..28
`- order Reserve                CLIENT   40..90
   `- product Reserve           SERVER   45..85
""", "work:order 30, wire:order→user 4, work:user 16, wire:order→product 10, work:product 40"),
    "overlapping siblings: a span closed late keeps its time": ("""
order Checkout                  SERVER   0..100
|- order GetUser                CLIENT   10..52
|  `- user GetUser              SERVER   12..40
`- order Reserve                CLIENT   50..95
   `- product Reserve           SERVER   55..90
""", "work:order 15, wire:order→user 12, work:user 28, wire:order→product 10, work:product 35"),
    "fan-out: starting the next call is work": ("""
graphql-gateway POST            SERVER   0..100
|- graphql-gateway GetA         CLIENT   10..80
|  `- user GetA                 SERVER   12..78
`- graphql-gateway GetB         CLIENT   20..95
   `- order GetB                SERVER   22..93
""", "work:graphql-gateway 25, wire:graphql-gateway→order 4, work:order 71"),
    "async child that outlives its parent was not waited for": ("""
order Checkout                  SERVER   0..100
|- order Reserve                CLIENT   10..90
|  `- product Reserve           SERVER   15..85
`- order notify                 INTERNAL 50..900
""", "work:order 20, wire:order→product 10, work:product 70; outlived 1"),
    "callee that closed just after the answer is cut": ("""
edge router                     CLIENT   0..100
`- order Checkout               SERVER   10..104
""", "wire:edge→order 10, work:order 90; outlived 1"),
    "clock skew is clipped": ("""
graphql-gateway GetOrder        CLIENT   100..200
`- order GetOrder               SERVER   80..160
   `- order SELECT              CLIENT   85..150 db.system.name=postgresql
""", "wire:graphql-gateway→order 40, work:order 10, db:order 50; skewed 1"),
    "retried call: the try without an answer is unattributed": ("""
graphql-gateway POST            SERVER   0..200
|- graphql-gateway GetOrder     CLIENT   10..50
`- graphql-gateway GetOrder     CLIENT   60..190
   `- order GetOrder            SERVER   70..180
""", "work:graphql-gateway 30, unattributed 40, wire:graphql-gateway→order 20, work:order 110; missing_servers 1"),
    "retry by the proxy": ("""
edge router                     CLIENT   0..200
|- order GetOrder               SERVER   10..50
`- order GetOrder               SERVER   70..180
""", "wire:edge→order 50, work:order 150"),
    "retry by a library: the call has the callee of its last try": ("""
graphql-gateway GetOrder        CLIENT   0..200
|- graphql-gateway try          CLIENT   5..50
`- graphql-gateway try          CLIENT   60..190
   `- order GetOrder            SERVER   70..180
""", "wire:graphql-gateway→order 45, unattributed 45, work:order 110; missing_servers 1"),
    "a callee that hangs is waited for until its call ends": ("""
order Checkout                  SERVER   0..40
`- order Capture                CLIENT   10..30
   `- payment Capture           SERVER   12..100
""", "work:order 20, wire:order→payment 2, work:payment 18; outlived 1"),
    "a callee that hangs: inside, what it waited for": ("""
order Checkout                  SERVER   0..40
`- order Capture                CLIENT   10..30
   `- payment Capture           SERVER   12..100
      |- payment pool.acquire   INTERNAL 13..15
      |- payment UPDATE         CLIENT   15..95 db.system.name=postgresql
      `- payment audit          INTERNAL 97..99
""", "work:order 20, wire:order→payment 2, work:payment 1, pool:payment 2, db:payment 15; outlived 1"),
    "a late call is cut, and its callee with it": ("""
order Checkout                  SERVER   0..100
|- order GetUser                CLIENT   10..52
|  `- user GetUser              SERVER   12..80
`- order Reserve                CLIENT   50..95
   `- product Reserve           SERVER   55..90
""", "work:order 15, wire:order→user 2, work:user 38, wire:order→product 10, work:product 35; outlived 1"),
    "a try that hangs was waited for until the next began": ("""
edge router                     CLIENT   0..200
|- order GetOrder               SERVER   10..300
|  `- order SELECT              CLIENT   20..290 db.system.name=postgresql
`- order GetOrder               SERVER   70..180
""", "wire:edge→order 30, work:order 120, db:order 50; outlived 1"),
    "the same with a span for each try": ("""
graphql-gateway GetOrder        CLIENT   0..200
|- graphql-gateway try          CLIENT   5..300
|  `- order GetOrder            SERVER   10..300
`- graphql-gateway try          INTERNAL 60..250
   `- order GetOrder            SERVER   70..400
""", "wire:graphql-gateway→order 10, work:graphql-gateway 10, work:order 180; outlived 3"),
    "a try that was given up gives its name to nothing, however late its callee ends": ("""
graphql-gateway GetOrder        CLIENT   0..200
|- graphql-gateway try          CLIENT   5..300
|  `- order-canary GetOrder     SERVER   10..450
`- graphql-gateway try          CLIENT   60..190
   `- order GetOrder            SERVER   70..180
""", "wire:graphql-gateway→order 35, wire:graphql-gateway→order-canary 5, work:order-canary 50, work:order 110; "
     "outlived 2"),
    "a busy loop at either end, up to a moment before": ("""
graphql-gateway GetOrder        CLIENT   0..100 shop.loop.busy_ms=0.000008 shop.loop.rested_ms=0.000001
`- order GetOrder               SERVER   60..85 shop.loop.busy_ms=0.000040 shop.loop.rested_ms=0.000005
""", "wire:graphql-gateway→order 27, queue:order 40, queue:graphql-gateway 8, work:order 25"),
    "a caller that was busy all the while kept nobody waiting until the answer was there": ("""
graphql-gateway GetOrder        CLIENT   0..100 shop.loop.busy_ms=0.000500
`- order GetOrder               SERVER   60..85 shop.loop.busy_ms=0.000500
""", "wire:graphql-gateway→order 0, queue:order 60, queue:graphql-gateway 15, work:order 25"),
    "missing span: its caller's time is unattributed": ("""
client product                  INTERNAL 0..100
`- client GET                   CLIENT   10..90
   `- product GetProduct        SERVER   30..70 (parent lost)
""", "client 20, unattributed 80; orphans 1, missing_servers 1"),
    "two roots: the journey's counts": ("""
edge ingress                    SERVER   0..500
`- edge router                  CLIENT   10..400
client browse                   INTERNAL 20..120 shop.journey=browse
`- client POST                  CLIENT   30..110
   `- edge ingress              SERVER   40..100
""", "client 20, wire:client→edge 20, proxy:edge 60; missing_servers 1, two_roots 1"),
    "streaming": ("""
client bulk_lines               INTERNAL 0..200
`- client GET                   CLIENT   5..195
   `- rest-gateway GET          SERVER   10..190
      `- rest-gateway Stream    CLIENT   20..185
         `- order Stream        SERVER   25..150
            |- order SELECT     CLIENT   30..60 db.system.name=postgresql
            |- order SELECT     CLIENT   70..100 db.system.name=postgresql
            `- order SELECT     CLIENT   110..140 db.system.name=postgresql
""", "client 10, wire:client→rest-gateway 10, work:rest-gateway 15, wire:rest-gateway→order 40, work:order 35, "
     "db:order 90"),
}  # fmt: skip


def counts_in(text):
    return {name: int(count) for name, count in map(str.split, filter(None, text.split(",")))}


def assert_budget(spans, expected):
    """Compares a trace's budget, and its defects, with `PART NS, ...; DEFECT COUNT, ...`."""
    budget = budget_of_tree(grow(spans))
    parts, defects = (counts_in(text) for text in expected.partition(";")[::2])
    assert budget.parts == parts
    assert budget.gap_ns == 0
    counted = {name: count for name, count in asdict(budget.quality).items() if count}
    assert counted == {"traces": 1, "spans": len(spans), **defects}


@pytest.mark.parametrize(("drawing", "expected"), CASES.values(), ids=CASES)
def test_time_goes_where_the_customer_waited(draw, drawing, expected):
    assert_budget(draw(drawing), expected)


def test_crossings_count_calls_on_and_off_the_path(draw):
    budget = budget_of_tree(grow(draw(PARALLEL_CHILDREN)))
    assert budget.crossings == {
        "work:graphql-gateway": 1, "wire:graphql-gateway→order": 1, "work:order": 1, "wire:graphql-gateway→user": 1,
        "work:user": 1,
    }  # fmt: skip
    beside = {part for part in budget.crossings if part not in budget.on_path}
    assert budget.on_path == {part: 1 for part in budget.crossings if part not in beside}
    assert beside == {part for part in budget.crossings if not budget.parts.get(part)}
    assert beside


def test_a_step_inside_a_component_enters_no_part_but_counts_on_the_path(draw):
    budget = budget_of_tree(grow(draw(STEPS_INSIDE_A_COMPONENT)))
    assert budget.crossings == budget.on_path == {"work:user": 1, "db:user": 1}
    assert budget.inner_on_path == {"work:user": 1}


@pytest.mark.parametrize(
    ("part", "maker"),
    [
        ("work:order", ("order", "SERVER")), ("proxy:order-inbound", ("order-inbound", "SERVER")),
        ("pool:order", ("order", "INTERNAL")), ("db:order", ("order", "CLIENT")),
        ("cache:user", ("user", "CLIENT")), ("hit:edge-cache", ("edge-cache", "SERVER")),
        ("wire:order→user", ("order", "CLIENT")), ("client", ("client", "INTERNAL")),
        ("network", ("client", "INTERNAL")), ("client:waiting", ("client", "INTERNAL")), ("unattributed", None),
    ],
)  # fmt: skip
def test_a_part_tells_whose_spans_enter_it(part, maker):
    assert maker_of(part) == maker


def test_each_crossing_of_the_customers_link_counts(draw):
    budget = budget_of_tree(grow(draw(DISTANT_CUSTOMER)))
    assert (budget.crossings["network"], budget.crossings["handshake"]) == (2, 1)
    assert budget.crossings == budget.on_path | {"client": 1, "proxy:edge": 1}


def test_the_edges_request_is_as_long_as_the_edge_says(draw):
    budget = budget_of_tree(grow(draw(DISTANT_CUSTOMER)))
    (request,) = budget.edge_requests
    assert request.ns == 152 - 80
    assert budget.quality.skewed == budget.quality.outlived == 0


def test_a_pause_on_purpose_counts_where_a_customer_waited_for_it(draw):
    spans = [
        replace(span, attributes={DELAY_TOOK: 0.525}) if span.kind is Kind.SERVER else span
        for span in draw(PARALLEL_CHILDREN)
    ]
    budget = budget_of_tree(grow(spans))
    assert budget.crossings["work:user"] == 1
    assert budget.injected_ns == {"work:graphql-gateway": 525_000, "work:order": 525_000}


def test_journey_and_channel_come_from_the_root(draw):
    budget = budget_of_tree(grow(draw(ONE_HOP)))
    assert (budget.journey, budget.channel, budget.total_ns) == ("browse", "web", 100)


def test_a_span_sent_twice_counts_once(draw):
    spans = draw(ONE_HOP)
    once, twice = budget_of_tree(grow(spans)), budget_of_tree(grow(spans + spans[3:5]))
    assert twice.parts == once.parts
    assert twice.quality.duplicates == 2


TWO_SPANS_OF_ONE_ID = {
    "the last to end": ({"end_ns": 60}, {"end_ns": 70}),
    "equal ends: the first to start": ({"start_ns": 45}, {"start_ns": 40}),
    "equal times: the last in the alphabet": ({"service": "edge"}, {"service": "order"}),
    "only attributes differ": ({"attributes": {"a": 1}}, {"attributes": {"b": 1}}),
}


@pytest.mark.parametrize(("one", "kept"), TWO_SPANS_OF_ONE_ID.values(), ids=TWO_SPANS_OF_ONE_ID)
def test_of_two_spans_with_one_id_the_same_is_kept_in_any_order(one, kept):
    span = Span("1" * 32, "2" * 16, "", "GetOrder", Kind.SERVER, "order", 50, 60)
    reports = [replace(span, **changes) for changes in (one, kept)]
    for arrived in (reports, reports[::-1]):
        (node,) = grow(arrived).nodes
        assert node.span == reports[1]


def test_a_trace_without_a_root_has_no_budget_and_is_counted(draw):
    budgets, quality = budgets_of([draw(ONE_HOP)[1:], [], draw(ONE_HOP)])
    assert len(budgets) == 1
    assert (quality.traces, quality.empty, quality.orphans) == (3, 2, 2)


def test_spans_that_are_each_others_parents_are_orphans(draw):
    root = draw("client browse INTERNAL 0..100")
    ring = [
        Span(root[0].trace_id, span_id, parent_id, "x", Kind.INTERNAL, "order", *_interval(root[0]))
        for span_id, parent_id in (("a" * 16, "b" * 16), ("b" * 16, "a" * 16), ("c" * 16, "c" * 16))
    ]
    budget = budget_of_tree(grow(root + ring))
    assert budget.quality.orphans == 3
    assert budget.gap_ns == 0


def test_each_of_many_children_costs_the_same(draw, steps_of):
    few, many = (steps_of(functools.partial(budgets_of, [_wide_call(draw, count)])) for count in (250, 1000))
    assert many < 5 * few


def _wide_call(draw, count):
    root = draw("order Checkout CLIENT 0..100000")[0]
    end_ns = root.start_ns + 10
    answer = Span(root.trace_id, "a" * 16, root.span_id, "Get", Kind.SERVER, "user", root.start_ns, end_ns)
    chunks = [
        Span(root.trace_id, f"{number + 9:016x}", root.span_id, "read", Kind.INTERNAL, "order", end_ns, end_ns + 5)
        for number, end_ns in enumerate(range(end_ns, end_ns + 10 * count, 10))
    ]
    return [root, answer, *chunks]


def test_a_chain_deeper_than_the_stack_is_walked(draw):
    root = draw("client browse INTERNAL 0..100000")[0]
    spans = [root]
    for depth in range(1, 20_000):
        start_ns, end_ns = root.start_ns + depth, root.end_ns - depth
        above = spans[-1].span_id
        spans.append(Span(root.trace_id, f"{depth + 9:016x}", above, "f", Kind.INTERNAL, "order", start_ns, end_ns))
    budget = budget_of_tree(grow(spans))
    assert budget.parts == {"client": 2, "work:order": 99_998}


def _interval(span):
    return span.start_ns, span.end_ns
