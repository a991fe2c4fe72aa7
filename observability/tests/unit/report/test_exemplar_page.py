"""The page of exemplars that stands in for Jaeger's own."""

from __future__ import annotations

from hops.report.exemplar_page import exemplar_page
from hops.synthetic.traces import shop_trace
from hops.traces.tree import grow


def test_each_exemplar_has_an_address_and_a_waterfall() -> None:
    traces = {spans[0].trace_id: grow(spans) for spans in (shop_trace(seed, 30) for seed in (1, 2))}
    exemplars = {trace_id: (["checkout p50", "all <p50>"], tree) for trace_id, tree in traces.items()}
    page = exemplar_page("hybrid", "a-run", "2 exemplars of 9 traces are loaded", exemplars)
    for trace_id in traces:
        assert f'<section id="{trace_id}"' in page
        assert f'href="#{trace_id}"' in page
        assert f"/api/v3/traces/{trace_id}" in page
    assert page.count('<table class="waterfall"') == 2
    assert "2 exemplars of 9 traces are loaded" in page
    assert "all &lt;p50&gt;" in page
    assert "make JAEGER=release setup" in page


def test_a_trace_without_a_root_is_left_out() -> None:
    (first, *rest) = shop_trace(1, 30)
    page = exemplar_page("hybrid", "a-run", "1 exemplar is loaded", {first.trace_id: (["all p50"], grow(rest))})
    assert "<section" not in page
