"""Which spans of a large trace are shown, and below which span."""

from __future__ import annotations

from hops.traces.shown import pieces_on_path, shown_spans
from hops.traces.tree import grow

DRAWING = """
edge get         INTERNAL 0..100
|- edge check      INTERNAL 0..10
`- edge wrapper    INTERNAL 20..90
   `- order get      SERVER   20..90
"""


def test_a_span_whose_parent_has_no_room_is_shown_below_the_nearest_shown_span_above_it(draw):
    root = grow(draw(DRAWING)).root
    shown, left_out = shown_spans(root, pieces_on_path(root), 3)
    assert [(depth, node.span.name) for depth, node in shown] == [(0, "get"), (1, "check"), (1, "get")]
    assert left_out == 1
