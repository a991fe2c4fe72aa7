"""What two sets of traces differ in, in words."""

from __future__ import annotations

import pytest

from hops.analysis.of_traces.sets import METRICS, Differing, PartDiffering, Sets
from hops.elements.element import Points
from hops.tables.of_traces.results import sets_elements


def sets(*b_ms):
    """An operation that took 10 ms in A; None for a figure without a result."""
    figures = []
    for metric, ms in zip(METRICS, b_ms, strict=True):
        p, reason = (None, "the sections do not scatter") if ms is None else (1.0 if ms == 10 else 0.001, None)
        figures.append(Differing("get", metric, (900, 900), 10.0, ms or 10.0, None, (None, None), p, reason))
    parts = [
        PartDiffering("get", "db:shop", "mean", 5.0, 14.0, 9.0, (8.0, 10.0), 0.001),
        PartDiffering("get", "cache:shop", "mean", 5.0, 1.0, -4.0, (-5.0, -3.0), 0.001),
    ]
    return Sets(figures, parts if any(one.verdict in ("slower", "faster") for one in figures) else [], ([], []))


@pytest.mark.parametrize(
    ("b_ms", "told"),
    [
        ((15, 15, 15), ["get is slower in B; most of it in db:shop: 9.0 ms (8.0 to 10.0)."]),
        ((9, 9, 10), ["get is faster in B at mean and p50; most of it in cache:shop: −4.0 ms (−5.0 to −3.0)."]),
        # A reader of this line alone must not take it for faster.
        ((15, 20, 5), ["get is slower in B at mean and p50 and faster in B at p99; "
                       "most of what makes it slower in db:shop: 9.0 ms (8.0 to 10.0)."]),
        ((10, 10, 10), ["No operation is shown to be slower or faster."]),
        ((None, None, None), ["3 of 3 figures were not tested: the sections do not scatter."]),
        ((10, None, None), ["No operation is shown to be slower or faster.",
                            "2 of 3 figures were not tested: the sections do not scatter."]),
    ],
)  # fmt: skip
def test_the_sentence_has_every_figure_that_differs(b_ms, told):
    (points,) = (one for one in sets_elements(sets(*b_ms)) if isinstance(one, Points))
    assert list(points.items) == told
