"""How two sets of traces differ, in words."""

from __future__ import annotations

import pytest

from hops.analysis.of_traces.sets import METRICS, Differing, PartDiffering, Sets
from hops.elements.element import Points, Text
from hops.tables.of_traces.results import sets_elements


def sets(*b_ms):
    """Makes results for an operation that took 10 ms in A and `b_ms` in B; None for a figure without a result."""
    figures = []
    for metric, ms in zip(METRICS, b_ms, strict=True):
        p, reason = (None, "the sections do not scatter") if ms is None else (1.0 if ms == 10 else 0.001, None)
        figures.append(Differing("get", metric, (900, 900), 10.0, ms or 10.0, None, (None, None), p, reason))
    more_ms = 9.0 if (b_ms[0] or 0) >= 10 else 1.0
    parts = [
        PartDiffering("get", "db:shop", "mean", 5.0, 5.0 + more_ms, more_ms, (more_ms - 1, more_ms + 1), 0.001),
        PartDiffering("get", "cache:shop", "mean", 5.0, 1.0, -4.0, (-5.0, -3.0), 0.001),
    ]
    return Sets(figures, parts if any(one.verdict in ("slower", "faster") for one in figures) else [], ([], []))


@pytest.mark.parametrize(
    ("b_ms", "sentences"),
    [
        ((15, 15, 15), ["get is slower in B; most of it in db:shop: 9.0 ms (8.0 to 10.0)."]),
        ((9, 9, 10), ["get is faster in B at mean and p50; most of it in cache:shop: −4.0 ms (−5.0 to −3.0)."]),
        # A reader of this line alone must not conclude that it is faster.
        ((15, 20, 5), ["get is slower in B at mean and p50 and faster in B at p99; "
                       "most of what makes it slower in db:shop: 9.0 ms (8.0 to 10.0)."]),
        ((10, 10, 10), ["No operation is shown to be slower or faster."]),
        ((None, None, None), ["3 of 3 figures were not tested: the sections do not scatter."]),
        ((10, None, None), ["No operation is shown to be slower or faster.",
                            "2 of 3 figures were not tested: the sections do not scatter."]),
    ],
)  # fmt: skip
def test_the_sentence_has_every_figure_that_differs(b_ms, sentences):
    answer, points, *_ = sets_elements(sets(*b_ms))
    assert isinstance(answer, Text)
    assert isinstance(points, Points)
    assert [answer.text, *points.items] == sentences


def test_one_of_five_equal_parts_is_not_most_of_the_change():
    parts = [PartDiffering("get", f"db:{name}", "mean", 1.0, 2.0, 1.0, (0.5, 1.5), 0.001) for name in "abcde"]
    slower = sets(15, 15, 15).figures
    answer, *_ = sets_elements(Sets(slower, parts, ([], [])))
    assert isinstance(answer, Text)
    assert answer.text == "get is slower in B; the most of any part in db:a: 1.0 ms (0.5 to 1.5)."


def test_the_answer_names_three_operations_of_each_direction():
    names = [f"get {number}" for number in range(5)]
    figures = [Differing(name, "p50", (900, 900), 10.0, 15.0, None, (None, None), 0.001, None) for name in names]
    figures.append(Differing("put", "p50", (900, 900), 10.0, 5.0, None, (None, None), 0.001, None))
    figures += [Differing("list", metric, (9, 9), 10.0, ms, None, (None, None), 0.001, None)
                for metric, ms in (("p50", 5.0), ("p99", 15.0))]  # fmt: skip
    answer, points, *_ = sets_elements(Sets(figures, [], ([], [])))
    assert isinstance(answer, Text)
    assert isinstance(points, Points)
    assert answer.text == (
        "In B get 0, get 1, get 2 and 2 more operations are slower; put is faster; "
        "list is slower and faster, by figure."
    )
    assert len(points.items) == 7
