"""The arms of a comparison of edges, and refused values."""

from __future__ import annotations

import pytest

from experiment.errors import UsageError
from experiment.kinds.compare import edge_arms, edge_cache_arms
from mesh.description.topology import Topology, load_topology

HYBRID, REST, TRANSCODED = (load_topology(name) for name in ("hybrid", "rest", "hybrid-transcoded"))


def test_every_topology_runs_with_every_edge() -> None:
    arms = edge_arms([HYBRID, REST], "envoy, kong", {})
    assert [(arm.label, arm.topology.name, arm.switches.edge) for arm in arms] == [
        ("hybrid-envoy", "hybrid", "envoy"),
        ("hybrid-kong", "hybrid", "kong"),
        ("rest-envoy", "rest", "envoy"),
        ("rest-kong", "rest", "kong"),
    ]
    assert {arm.switches.http for arm in arms} == {2}


def test_with_an_arm_without_an_edge_all_speak_http_1_and_that_arm_has_no_plugins() -> None:
    arms = edge_arms([HYBRID], "envoy,kong,none", {"plugins": "typical", "trace": "0.5"})
    assert [(arm.label, arm.switches.http, arm.switches.plugins) for arm in arms] == [
        ("hybrid-envoy", 1, "typical"),
        ("hybrid-kong", 1, "typical"),
        ("hybrid-no-edge", 1, "none"),
    ]
    assert {arm.switches.trace for arm in arms} == {0.5}


@pytest.mark.parametrize(
    ("topology", "edges", "given", "problem"),
    [
        (HYBRID, "envoy,nginx", {}, "arm hybrid-nginx: edge=nginx is unknown; valid: envoy, kong, none"),
        (HYBRID, "kong,kong", {}, "edges=kong,kong: give each edge once"),
        (HYBRID, "kong", {"edge": "envoy"}, "edges=kong and edge=envoy contradict each other"),
        (HYBRID, "envoy,none", {"http": "2"}, "http=2: without an edge, gateways speak .* leave out http=2"),
        (HYBRID, "envoy,none", {"mesh": "envoy"}, "arm hybrid-no-edge: edge=none with mesh=envoy"),
        (REST, "kong,none", {}, "arm rest-no-edge: edge=none: rest has clients .* valid with it: envoy, kong"),
        (TRANSCODED, "kong", {}, "arm hybrid-transcoded-kong: edge=kong: hybrid-transcoded needs"),
    ],
)
def test_contradicting_settings_are_refused(
    topology: Topology, edges: str, given: dict[str, str], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        edge_arms([topology], edges, given)


def test_every_topology_runs_without_and_with_a_shared_cache_and_no_arm_has_tls() -> None:
    arms = edge_cache_arms([HYBRID, REST], "none, varnish", None, {"rtt": "100ms"})
    assert [(arm.label, arm.switches.edge_cache, arm.switches.tls, arm.switches.rtt_ms) for arm in arms] == [
        ("hybrid", "none", "off", 100),
        ("hybrid-edge-cache", "varnish", "off", 100),
        ("rest", "none", "off", 100),
        ("rest-edge-cache", "varnish", "off", 100),
    ]


@pytest.mark.parametrize(
    ("caches", "edges", "given"),
    [("varnish", None, {}), ("none,varnish", "envoy,kong", {}), ("none,varnish", None, {"edge_cache": "varnish"})],
)
def test_a_comparison_of_caches_has_both_and_nothing_else_varies(
    caches: str, edges: str | None, given: dict[str, str]
) -> None:
    with pytest.raises(UsageError, match=f"edge_caches={caches}"):
        edge_cache_arms([REST], caches, edges, given)
