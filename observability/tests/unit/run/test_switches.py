"""The switches of a run in words; a run from before a switch existed had its default."""

from __future__ import annotations

import pytest

from hops.run.switches import (
    compares_edges,
    mesh_text,
    programs_of,
    replicas_text,
    selection_pairs,
    switches_text,
    value_text,
)

OLD = {"edge": "envoy", "mesh": "none", "mtls": "off", "scale": 1, "delay_ms": {}}
NEW = OLD | {"canary": 0, "replicas": {}, "abort_share": {}, "store": "postgres"}


@pytest.mark.parametrize("switches", [OLD, NEW], ids=["of an older run", "of a newer one"])
def test_what_is_off_is_not_listed(switches):
    assert switches_text(switches) == "edge envoy, mesh none, mtls off, scale 1"
    assert mesh_text(switches) == ""


def test_http_3_is_not_grpc_s():
    switches = NEW | {"http": 3, "tls": "on"}
    assert switches_text(switches) == "edge envoy, mesh none, mtls off, scale 1, http 3 (gRPC stays on 2), tls on"
    assert value_text(NEW | {"http": 2}, "http") == "2"


@pytest.mark.parametrize(
    "network", [{"rtt_ms": 0}, {"network": "4g", "rtt_ms": None, "networks": {"web": {"network": "wifi"}}}]
)
def test_the_network_is_reported_elsewhere(network):
    assert switches_text(NEW | network) == switches_text(NEW)


def test_what_is_on_is_listed():
    switches = NEW | {"mesh": "istio", "mtls": "on", "canary": 10, "delay_ms": {"payment": 2.0, "user": 0.5}}
    switches |= {"abort_share": {"payment": 0.01}, "store": "memory"}
    assert switches_text(switches) == (
        "edge envoy, mesh istio, mtls on, scale 1, delay_ms payment 2, user 0.5, canary 10, abort_share payment 0.01, "
        "store memory"
    )
    assert mesh_text(switches) == "Istio, mTLS on, 10 % of the calls to product go to the canary"
    several = NEW | {"replicas": {"graphql-gateway": 2, "product": 3}}
    assert replicas_text(several) == "2 of graphql-gateway, 3 of product"
    assert replicas_text(OLD) == ""
    assert value_text(NEW | {"implementation": {"product": "go"}}, "implementation") == "product go"
    assert mesh_text(OLD | {"mesh": "envoy"}) == "Envoy with static configuration, mTLS off"


def test_programs_are_the_files_unless_a_switch_says_otherwise():
    topology = {"programs": {"product": {"implementation": "go"}, "user": {"implementation": "", "command": ["u"]}}}
    assert programs_of(topology, NEW) == {"product": "go", "user": "command"}
    assert programs_of(topology, NEW | {"implementation": {"product": "python"}}) == {"user": "command"}
    assert programs_of({}, NEW | {"implementation": {"product": "go"}}) == {"product": "go"}


DEFAULTS = {
    "canary": "0", "tls": "off", "replicas": "none", "abort_share": "none",
    "store": "postgres", "scale": "1", "of another version": "-",
}  # fmt: skip


@pytest.mark.parametrize(("name", "text"), DEFAULTS.items())
def test_a_switch_that_a_run_lacks_has_its_default(name, text):
    assert value_text(OLD, name) == text


@pytest.mark.parametrize(
    ("names", "arms", "edges"),
    [
        (["hybrid", "hybrid"], [{"edge": "envoy", "tls": "off"}, {"edge": "kong", "tls": "off"}], True),
        (["hybrid", "hybrid"], [{"edge": "envoy", "plugins": "typical"}, {"edge": "none", "plugins": "none"}], True),
        (["hybrid", "hybrid"], [{"edge": "envoy", "tls": "off"}, {"edge": "kong", "tls": "on"}], False),
        (["hybrid", "rest"], [{"edge": "envoy"}, {"edge": "kong"}], False),
        (["hybrid"], [{"edge": "envoy"}], False),
    ],
    ids=["edges alone", "plugins of an edge", "TLS too", "topologies too", "one arm"],
)
def test_a_comparison_of_one_topology_behind_several_edges_is_known(names, arms, edges):
    labels = [str(number) for number, _ in enumerate(names)]
    manifest = {
        "kind": "compare",
        "topologies": {label: {"name": name} for label, name in zip(labels, names, strict=True)},
        "arms": dict(zip(labels, arms, strict=True)),
    }
    assert compares_edges(manifest) is edges


@pytest.mark.parametrize(
    ("arms", "pairs"),
    [
        ([("rest", {"selection": "all"}), ("rest", {"selection": "off"})], [("1", "0")]),
        ([("rest", {"selection": one}) for one in ("off", "graphql", "all")], [("0", "1"), ("0", "2"), ("1", "2")]),
        ([("rest", {}), ("rest", {"selection": "all"})], [("0", "1")]),
        ([("rest", {"selection": "off"}), ("grpc", {"selection": "all"})], []),
        ([("rest", {"selection": "off", "http": 1}), ("rest", {"selection": "all", "http": 2})], []),
        ([("rest", {"selection": "off"}), ("rest", {"selection": "off"})], []),
    ],
    ids=["the fatter first", "three", "the default", "topologies too", "HTTP too", "equal"],
)
def test_arms_that_differ_in_their_selection_alone_are_paired(arms, pairs):
    manifest = {
        "topologies": {str(number): {"name": name} for number, (name, _) in enumerate(arms)},
        "arms": {str(number): switches for number, (_, switches) in enumerate(arms)},
    }
    assert selection_pairs(manifest) == pairs
    assert selection_pairs({**manifest, "targets": {}}) == []
