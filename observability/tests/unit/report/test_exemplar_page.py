"""The page of exemplars: every topology of a comparison, and where each trace is."""

from __future__ import annotations

from hops.report.exemplar_page import exemplar_page
from hops.traces.tree import grow
from synthetic.traces import shop_trace


def test_topologies_are_next_to_each_other_and_each_trace_is_drawn_once() -> None:
    shown = {}
    for seed, topology in enumerate(("hybrid", "<rest>"), 1):
        tree = grow(shop_trace(seed, 30))
        shown[topology] = {tree.root.span.trace_id: (["checkout p50", "all <p50>"], tree)}
    page = exemplar_page("a-run", "hybrid: 1 exemplar of 9 traces is loaded", shown)
    _, *sections = page.split("<section")
    assert ["all &lt;p50&gt;" in sections[0], "checkout p50" in sections[1]] == [True, True]
    for traces in shown.values():
        (trace_id,) = traces
        assert page.count(f'id="{trace_id}"') == 1
        assert f'<div id="{trace_id}">' in sections[0]
        assert f'href="#{trace_id}"' in sections[1]
    assert page.count('<table class="waterfall"') == 2
    assert "hybrid: 1 exemplar of 9 traces is loaded" in page
    assert "&lt;rest&gt;: the same trace as for all &lt;p50&gt;" in sections[1]


def test_a_single_span_is_counted_as_one() -> None:
    root = shop_trace(1, 30)[0]
    page = exemplar_page("a-run", "1 exemplar is loaded", {"hybrid": {root.trace_id: (["all p50"], grow([root]))}})
    assert ", 1 span <small>" in page


def test_a_trace_without_a_root_is_left_out() -> None:
    (first, *rest) = shop_trace(1, 30)
    shown = {"hybrid": {first.trace_id: (["all p50"], grow(rest))}}
    assert "<section" not in exemplar_page("a-run", "1 exemplar is loaded", shown)
