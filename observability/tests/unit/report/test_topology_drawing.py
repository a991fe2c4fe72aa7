"""How a topology is drawn."""

from __future__ import annotations

import pytest

from hops.report.sections.topology_drawing import Link, browser_note, draw_topology, links_of

HYBRID = {
    "name": "hybrid",
    "about": "GraphQL outside, gRPC inside.",
    "entry": {"web": "graphql-gateway"},
    "links": {"graphql-gateway": {"product": "grpc"}},
}


@pytest.mark.parametrize(("edge", "label"), [("envoy", "edge (Envoy)"), ("kong", "edge (Kong)")])
def test_the_edge_has_its_program_s_name(edge: str, label: str) -> None:
    assert label in draw_topology("hybrid", HYBRID, {"edge": edge}).svg


def test_without_an_edge_there_is_no_box_for_one() -> None:
    assert "edge (" not in draw_topology("hybrid", HYBRID, {"edge": "none"}).svg


def test_a_component_by_another_program_says_which():
    topology = {**HYBRID, "links": {"graphql-gateway": {"product": "grpc", "order": "grpc"}}}
    drawn = draw_topology("hybrid", topology, {"implementation": {"product": "go"}})
    assert ">product (Go)<" in drawn.svg
    assert ">order<" in drawn.svg


def test_a_web_channel_that_speaks_grpc_is_no_browser() -> None:
    grpc = {"entry": {"web": "services"}, "links": {"client": {"product": "grpc"}}}
    connect = {"entry": {"web": "services"}, "links": {"client": {"product": "connect"}}}
    note = browser_note({"grpc": grpc, "hybrid": HYBRID, "connect": connect})
    assert note.startswith("The web channel of grpc is not a browser: pages cannot read HTTP trailers")
    assert browser_note({"hybrid": HYBRID, "connect": connect}) == ""


def test_what_the_edge_translates_is_drawn_on_both_sides() -> None:
    topology = {"entry": {"web": "grpc-web"}, "links": {"grpc-web": {"product": "grpc"}}}
    links = [Link("web", "edge", "grpc-web"), Link("edge", "product", "grpc"), Link("product", "database", "sql")]
    assert links_of(topology, edge=True) == links
