"""What the traces of a target that is not the shop may lack."""

from __future__ import annotations

import pytest

from hops.budget.any_system import tree_of
from hops.gates.target_traces import TargetTraces, look_at

WHOLE = """
client look        INTERNAL 0..100 load.journey=look
`- client GET      CLIENT 0..100
   `- books GET    SERVER 10..90
      `- books ask CLIENT 20..80
         `- stock get SERVER 30..70
"""
MS = 1_000_000


@pytest.mark.parametrize(
    ("lost", "expected"),
    [
        ("", TargetTraces(found=4, calls=8, unanswered=0, requests=4, longer=0)),
        ("stock", TargetTraces(found=4, calls=8, unanswered=1, requests=4, longer=0)),
        ("books", TargetTraces(found=3, calls=7, unanswered=1, requests=3, longer=0)),
    ],
)
def test_counts_traces_that_are_missing_and_calls_that_are_usually_answered(draw, lost, expected):
    whole = list(draw(WHOLE))
    cut = {
        "": whole,
        "stock": [span for span in whole if span.service != "stock"],
        "books": [span for span in whole if span.service == "client"],
    }[lost]
    assert look_at(map(tree_of, [whole, whole, whole, cut])) == expected


def test_a_peer_that_never_leaves_spans_is_not_expected_to(draw):
    untraced = [span for span in draw(WHOLE) if span.service != "stock"]
    assert look_at([tree_of(untraced)]) == TargetTraces(found=1, calls=1, unanswered=0, requests=1, longer=0)


@pytest.mark.parametrize(("longer_ns", "counted"), [(2 * MS, 0), (2 * MS + 1, 1)])
def test_a_span_that_continues_after_the_answer_is_longer_than_its_request_on_any_clock(draw, longer_ns, counted):
    spans = draw(f"""
client look     INTERNAL 0..100 load.journey=look
`- client GET   CLIENT 0..100
   `- books GET SERVER 5000000..{5000000 + 100 + longer_ns}
""")
    assert look_at([tree_of(spans)]).longer == counted


MIXED = """
client look           INTERNAL 0..100 load.journey=look
`- client GET         CLIENT 0..100
   `- books GET       SERVER 10..90
      |- books GET    CLIENT 20..30 server.address=stock
      |  `- stock GET SERVER 22..28
      |- books GET    CLIENT 30..40 server.address=stock
      |  `- stock GET SERVER 32..38
      `- books GET    CLIENT 50..60 {}
"""


@pytest.mark.parametrize(
    ("last", "counted"),
    [
        ("server.address=stock", (4, 1)),
        ("server.address=192.0.2.7", (3, 0)),
        ("server.address=api.example.com", (3, 0)),
        ("server.address=stock response_flags=UF", (3, 0)),
        ("server.address=stock response_flags=URX,UH", (3, 0)),
        ("server.address=stock canceled=true", (3, 0)),
    ],
)
def test_only_calls_that_their_peer_should_have_answered_are_unanswered(draw, last, counted):
    seen = look_at([tree_of(list(draw(MIXED.format(last))))])
    assert (seen.calls, seen.unanswered) == counted


def test_a_lost_replica_is_no_peer_that_never_leaves_spans(draw):
    spans = list(draw(MIXED.replace("=stock", "=192.0.2.6").format("server.address=192.0.2.7")))
    seen = look_at([tree_of(spans)])
    assert (seen.calls, seen.unanswered) == (4, 1)
