"""Traces of any system as trees: what stock SDKs leave, repaired and counted."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hops.budget.any_system import budget_of_any, tree_of
from hops.traces.span import Kind


def parts(spans):
    return dict(budget_of_any(tree_of(spans)).parts)


def test_the_generators_spans_have_the_shops_parts_and_the_targets_have_not(draw):
    """A load's trace: the link is crossed before and after the server, whose span names have no special meaning."""
    spans = draw("""
client look          INTERNAL 0..100 load.journey=look load.channel=web
|- client start_lag  INTERNAL 0..5
`- client GET        CLIENT 5..95
   |- client waiting INTERNAL 5..10
   |- client link_up INTERNAL 10..30
   |- edge waiting   SERVER 20..85
   `- client link_down INTERNAL 80..95
""")
    budget = budget_of_any(tree_of(spans))
    assert (budget.journey, budget.channel) == ("look", "web")
    assert dict(budget.parts) == {
        "client": 5, "start_lag": 5, "client:waiting": 5, "network": 35, "work:edge": 50,
    }  # fmt: skip


def test_a_root_of_the_generator_is_chosen_before_one_that_is_longer(draw):
    spans = draw("""
client look   INTERNAL 0..100 load.journey=look
stray later   SERVER 0..900
""")
    assert budget_of_any(tree_of(spans)).total_ns == 100


CASES = {
    "a call and what answers it": ("""
shop get       SERVER 0..100
`- shop GET     CLIENT 10..90
   `- stock get  SERVER 20..80
      |- stock select CLIENT 30..50 db.system=mysql
      |- stock get    CLIENT 50..60 db.system=redis
      `- stock pay    CLIENT 60..70 server.address=api.example.com
""", {
        "work:shop": 20, "wire:shop→stock": 20, "work:stock": 20, "db:stock": 20, "cache:stock": 10,
        "external:stock→api.example.com": 10,
    }, {"complete": True}),
    # A service may be called client, edge or order-inbound, and a span handshake or pool.acquire.
    "names of the shop mean nothing in other traces": ("""
client handshake  INTERNAL 0..100
`- client GET      CLIENT 0..100
   `- edge waiting  SERVER 10..90
      |- edge pool.acquire INTERNAL 20..40
      `- edge GET    CLIENT 40..80
         `- order-inbound link_up SERVER 50..70
""", {"wire:client→edge": 20, "work:edge": 40, "wire:edge→order-inbound": 20, "work:order-inbound": 20}, {}),
    "a host whose name begins as a service does is another one": ("""
api get         SERVER 0..100
`- api POST      CLIENT 10..90 server.address=api.example.com
""", {"work:api": 20, "external:api→api.example.com": 80}, {}),
    "a message that is waited for": ("""
shop order         SERVER 0..100
`- shop send        PRODUCER 10..20
   `- mail process   CONSUMER 50..80
""", {"work:shop": 30, "messaging:shop": 10, "messaging:shop→mail": 30, "work:mail": 30}, {}),
    "a message that is received before it was acknowledged": ("""
shop order         SERVER 0..100
`- shop send        PRODUCER 10..20
   `- mail process   CONSUMER 19..80
""", {"work:shop": 30, "messaging:shop": 9, "work:mail": 61}, {}),
    "spans without kinds": ("""
shop get       UNSPECIFIED 0..100
|- shop parse   UNSPECIFIED 10..20
`- stock get    UNSPECIFIED 30..80
   `- db query   CLIENT 40..60 db.type=sql
""", {"work:shop": 50, "work:stock": 30, "db:db": 20}, {}),
    "a call through several layers of the caller": ("""
shop get            SERVER 0..100
`- shop stub         CLIENT 10..90
   `- shop retry      INTERNAL 15..85
      `- shop http     CLIENT 20..80
         `- stock get   INTERNAL 30..70
""", {"work:shop": 30, "wire:shop→stock": 30, "work:stock": 40}, {"missing_servers": 0}),
    # The peer has spans elsewhere in the trace, so its spans for the second call were lost.
    "a callee whose spans were lost is not an external one": ("""
shop get       SERVER 0..100
|- shop GET     CLIENT 10..40 server.address=stock.default.svc
|  `- stock get  SERVER 20..30
`- shop GET     CLIENT 50..90 server.address=stock.default.svc
""", {"work:shop": 30, "wire:shop→stock": 20, "work:stock": 10, "unattributed": 40}, {"missing_servers": 1}),
}  # fmt: skip


@pytest.mark.parametrize(("drawing", "expected", "counts"), CASES.values(), ids=CASES)
def test_time_goes_where_the_caller_waited(draw, drawing, expected, counts):
    budget = budget_of_any(tree_of(draw(drawing)))
    assert dict(budget.parts) == expected
    assert {name: getattr(budget.quality, name) for name in counts} == counts


def test_an_internal_span_without_a_kind_enters_no_part(draw):
    spans = draw(CASES["spans without kinds"][0])
    assert dict(budget_of_any(tree_of(spans)).crossings) == {"work:shop": 1, "work:stock": 1, "db:db": 1}


def test_one_attribute_makes_the_same_trace_the_shops(draw):
    drawing = """
client browse INTERNAL 0..100 {}
`- client GET      CLIENT 0..100
   `- edge ingress  SERVER 10..90
"""
    assert parts(draw(drawing.replace("{}", "shop.journey=browse"))) == {"wire:client→edge": 20, "proxy:edge": 80}
    assert parts(draw(drawing.replace("{}", "other=browse"))) == {"wire:client→edge": 20, "work:edge": 80}


def test_a_message_that_only_a_link_leads_to(draw):
    spans = draw("""
shop order         SERVER 0..100
`- shop send        PRODUCER 10..20
mail batch         CONSUMER 50..80
""")
    linked = [*spans[:2], replace(spans[2], links=((spans[1].trace_id, spans[1].span_id),))]
    assert parts(linked) == {"work:shop": 30, "messaging:shop": 10, "messaging:shop→mail": 30, "work:mail": 30}
    assert tree_of(spans).quality.two_roots == 1
    assert tree_of(linked).quality.two_roots == 0


def test_both_halves_of_a_call_under_one_id(draw):
    """Zipkin's tracers write such spans."""
    spans = draw("""
shop get       SERVER 0..100
`- shop GET     CLIENT 10..90
   `- stock get  SERVER 20..80
      `- stock q  CLIENT 30..50 db.system=mysql
""")
    shared = [
        *spans[:2],
        replace(spans[2], span_id=spans[1].span_id, parent_id=spans[0].span_id),
        replace(spans[3], parent_id=spans[1].span_id),
    ]
    assert parts(shared) == parts(spans) == {"work:shop": 20, "wire:shop→stock": 20, "work:stock": 40, "db:stock": 20}
    assert tree_of(shared).quality.duplicates == 0


def test_of_a_half_that_came_twice_its_order_decides_nothing(draw):
    spans = draw("""
shop get       SERVER 0..100
`- shop GET     CLIENT 10..90
`- shop GET     CLIENT 10..70
   `- stock get  SERVER 20..60
      `- stock q  INTERNAL 30..80
""")
    called, again = spans[1], replace(spans[2], service="stock", span_id=spans[1].span_id)
    answer = replace(spans[3], span_id=called.span_id, parent_id=spans[0].span_id)
    shared = [spans[0], called, again, answer, replace(spans[4], parent_id=called.span_id)]
    assert parts(shared) == parts(shared[::-1]) == {"work:shop": 20, "wire:shop→stock": 40, "work:stock": 40}


def test_a_trace_without_a_root(draw):
    spans = draw("""
shop get       SERVER 0..100 (parent lost)
`- shop parse   INTERNAL 10..20
mail send      SERVER 30..40 (parent lost)
""")
    tree = tree_of(spans)
    budget = budget_of_any(tree)
    assert (budget.journey, budget.total_ns) == ("shop: get", 100)
    assert (tree.quality.orphans, tree.quality.empty, tree.quality.complete) == (2, 0, False)


def test_parents_in_a_ring(draw):
    spans = draw("""
shop get       SERVER 0..100
`- shop parse   INTERNAL 10..20
""")
    ring = [replace(spans[0], parent_id=spans[1].span_id), spans[1]]
    assert parts(ring) == {"work:shop": 100}
    assert parts([replace(spans[0], parent_id=spans[0].span_id)]) == {"work:shop": 100}
    assert tree_of(ring).quality.rings == 1
    assert tree_of([*spans, replace(spans[1], span_id="3" * 16, parent_id="3" * 16)]).quality.rings == 1


def test_messages_that_were_sent_by_each_other(draw):
    spans = draw("""
shop get          SERVER 0..100
`- shop send       PRODUCER 10..20
   `- shop again    PRODUCER 12..18
      `- mail process CONSUMER 50..80
""")
    ring = [spans[0], replace(spans[1], parent_id=spans[2].span_id), *spans[2:]]
    assert parts(ring) == {"work:shop": 100}
    assert tree_of(ring).quality.orphans == 3


@pytest.mark.parametrize("end", [20, 40])
def test_work_that_is_above_the_receipt_that_handed_it_on(draw, end):
    get, receipt, work = draw(f"""
front get      SERVER 0..100
`- worker a     CONSUMER 10..20
   `- worker b   INTERNAL 10..{end}
""")
    ring = [get, replace(receipt, parent_id=work.span_id), work]
    quality = tree_of(ring).quality
    assert parts(ring) == {"work:front": 100}
    assert (quality.orphans, quality.rings) == (2, 2)


def test_one_sending_may_have_very_many_receipts(draw, steps_of):
    spans = draw("""
shop get       SERVER 0..100
`- shop send     PRODUCER 10..20
   `- mail process CONSUMER 50..80
""")

    def parts_with(receipts):
        copies = (replace(spans[2], span_id=f"{1000 + number:016x}") for number in range(receipts))
        return parts([*spans, *copies])

    assert parts_with(30_000) == {"work:shop": 30, "messaging:shop": 10, "messaging:shop→mail": 30, "work:mail": 30}
    # If each span were compared with all others, twice as many would take four times as many steps.
    assert steps_of(lambda: parts_with(2_000)) < 2.5 * steps_of(lambda: parts_with(1_000))


def test_a_span_without_times_encloses_its_children(draw):
    spans = draw("""
shop get       SERVER 0..100
`- stock get    SERVER 0..0
   `- stock q    INTERNAL 20..80
""")
    timeless = [spans[0], replace(spans[1], start_ns=0, end_ns=0), spans[2]]
    assert parts(timeless) == {"work:shop": 40, "work:stock": 60}
    nowhere = tree_of([replace(span, start_ns=0, end_ns=0) for span in spans])
    assert budget_of_any(nowhere) is None
    assert (nowhere.quality.left_out, nowhere.quality.unfinished) == (1, 3)


def test_times_may_count_from_0(draw):
    spans = draw("""
shop get       SERVER 1000..1100
|- stock get    SERVER 1000..1040
`- stock put    SERVER 1050..1090
""")
    first = min(span.start_ns for span in spans)
    from_zero = [replace(span, start_ns=span.start_ns - first, end_ns=span.end_ns - first) for span in spans]
    assert parts(from_zero) == parts(spans) == {"work:shop": 20, "work:stock": 80}


def test_a_hundred_thousand_spans_deep_and_wide(draw):
    (root,) = draw("shop get SERVER 0..1000000")
    deep, wide = [root], [root]
    for number in range(1, 50_000):
        own = replace(root, span_id=f"{number + 1:016x}", kind=Kind.INTERNAL, start_ns=root.start_ns + number)
        deep.append(replace(own, parent_id=deep[-1].span_id))
        wide.append(replace(own, parent_id=root.span_id, end_ns=own.start_ns + 1))
    assert parts(deep) == parts(wide) == {"work:shop": 1_000_000}
