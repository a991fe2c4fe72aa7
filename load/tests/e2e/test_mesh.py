from __future__ import annotations

from typing import Any

import pytest

from mesh.paths import ROOT

pytestmark = pytest.mark.e2e

MESH_GATES = {"bypassed_calls", "silent_sidecars", "config_refused"}


@pytest.fixture(scope="module", params=[("envoy", "off"), ("envoy", "on"), ("istio", "on")], ids="-".join)
def summary(terminal, request: pytest.FixtureRequest) -> dict[str, Any]:
    mesh, mtls = request.param
    if mesh == "istio" and not (ROOT / ".tools" / "bin" / "istiod").is_file():
        pytest.skip("Istio is not built (make istio): no bench with mesh=istio")
    how = (f"mesh={mesh}", f"mtls={mtls}", "canary=20", "replicas=order:2")
    document, _ = terminal.bench("topology=hybrid", *how)
    assert (document["switches"]["mesh"], document["switches"]["mtls"]) == (mesh, mtls)
    return document


def test_gates_that_depend_only_on_the_code_hold(terminal: Any, summary: dict[str, Any]) -> None:
    assert terminal.failed_code_gates(summary) == []
    expected = MESH_GATES | ({"unencrypted_sidecars"} if summary["switches"]["mtls"] == "on" else set())
    assert expected <= {gate["name"] for gate in summary["gates"]}


def test_both_proxies_of_a_call_and_its_wires_are_in_the_budget(summary: dict[str, Any]) -> None:
    (topology,) = summary["topologies"].values()
    parts = set(topology["journeys"]["all"]["budget_ms"]["mean"])
    assert {
        "proxy:edge-outbound",
        "wire:edge-outbound→graphql-gateway-inbound",
        "proxy:graphql-gateway-outbound",
        "wire:graphql-gateway-outbound→product-inbound",
        "proxy:product-inbound",
        "wire:product-inbound→product",
        "work:product-canary",
    } <= parts


def test_nothing_is_left_running(terminal, summary: dict[str, Any]) -> None:
    assert terminal.left_over() == []
