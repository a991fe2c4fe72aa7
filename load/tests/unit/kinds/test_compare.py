from __future__ import annotations

import pytest

from experiment.errors import UsageError
from experiment.plan.axis import compared_arms
from mesh.description.topology import Topology, load_topology

HYBRID, REST, TRANSCODED, DIRECT = (
    load_topology(name) for name in ("hybrid", "rest", "hybrid-transcoded", "graphql-direct")
)


def test_every_topology_runs_with_every_edge() -> None:
    arms = compared_arms([HYBRID, REST], {"edges": "envoy, kong"}, {})
    assert [(arm.label, arm.topology.name, arm.switches.edge) for arm in arms] == [
        ("hybrid-envoy", "hybrid", "envoy"),
        ("hybrid-kong", "hybrid", "kong"),
        ("rest-envoy", "rest", "envoy"),
        ("rest-kong", "rest", "kong"),
    ]
    assert {arm.switches.http for arm in arms} == {2}


def test_with_an_arm_without_an_edge_all_speak_http_1_and_that_arm_has_no_plugins() -> None:
    arms = compared_arms([HYBRID], {"edges": "envoy,kong,none"}, {"plugins": "typical", "trace": "0.5"})
    assert [(arm.label, arm.switches.http, arm.switches.plugins) for arm in arms] == [
        ("hybrid-envoy", 1, "typical"),
        ("hybrid-kong", 1, "typical"),
        ("hybrid-no-edge", 1, "none"),
    ]
    assert {arm.switches.trace for arm in arms} == {0.5}


def test_every_topology_runs_without_and_with_a_shared_cache_and_no_arm_has_tls() -> None:
    arms = compared_arms([HYBRID, REST], {"edge_caches": "none, varnish"}, {"rtt": "100ms"})
    assert [(arm.label, arm.switches.edge_cache, arm.switches.tls, arm.switches.rtt_ms) for arm in arms] == [
        ("hybrid", "none", "off", 100),
        ("hybrid-edge-cache", "varnish", "off", 100),
        ("rest", "none", "off", 100),
        ("rest-edge-cache", "varnish", "off", 100),
    ]


def test_every_topology_runs_with_every_selection() -> None:
    arms = compared_arms([HYBRID, REST], {"selections": "off, all", "edges": None}, {"compression": "off"})
    assert [(arm.label, arm.topology.name, arm.switches.selection) for arm in arms] == [
        ("hybrid-select-off", "hybrid", "off"),
        ("hybrid-select-all", "hybrid", "all"),
        ("rest-select-off", "rest", "off"),
        ("rest-select-all", "rest", "all"),
    ]
    assert {arm.switches.compression for arm in arms} == {"off"}


@pytest.mark.parametrize(
    ("topology", "along", "given", "problem"),
    [
        (HYBRID, {"edges": "envoy,nginx"}, {}, "arm hybrid-nginx: edge=nginx is unknown; valid: envoy, kong, none"),
        (HYBRID, {"edges": "kong,kong"}, {}, "edges=kong,kong: kong is given twice; give each once"),
        (HYBRID, {"edges": "kong"}, {"edge": "envoy"}, "edges=kong and edge=envoy contradict each other"),
        (HYBRID, {"edges": "envoy,none"}, {"http": "2"}, "http=2: without an edge, gateways speak .* leave out http=2"),
        (HYBRID, {"edges": "envoy,none"}, {"http": "3"}, "http=3: without an edge, gateways speak .* leave out http=3"),
        (HYBRID, {"edges": "envoy,none"}, {"mesh": "envoy"}, "arm hybrid-no-edge: edge=none with mesh=envoy"),
        (
            REST,
            {"edges": "kong,none"},
            {},
            "arm rest-no-edge: edge=none: rest has clients .* valid with rest: envoy, kong",
        ),
        (TRANSCODED, {"edges": "kong"}, {}, "arm hybrid-transcoded-kong: edge=kong: hybrid-transcoded needs"),
        (REST, {"edge_caches": "varnish"}, {}, "edge_caches=varnish is not valid; valid: none,varnish"),
        (REST, {"edge_caches": "none,varnish"}, {"edge_cache": "varnish"}, "edge_cache=varnish contradict"),
        (
            REST,
            {"selections": "off,some"},
            {},
            "arm rest-select-some: selection=some is unknown; valid: graphql, off, all",
        ),
        (REST, {"selections": "off,all"}, {"selection": "all"}, "selections=off,all and selection=all contradict"),
        (TRANSCODED, {"selections": "all"}, {}, "arm hybrid-transcoded-select-all: selection=all: "),
        (DIRECT, {"selections": "off,graphql"}, {}, "arm graphql-direct-select-off: selection=off: "),
        (
            REST,
            {"edges": "envoy,kong", "edge_caches": "none,varnish"},
            {},
            "edges=envoy,kong and edge_caches=none,varnish cannot be combined: give one of them",
        ),
    ],
)
def test_contradicting_settings_are_refused(
    topology: Topology, along: dict[str, str], given: dict[str, str], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        compared_arms([topology], along, given)
