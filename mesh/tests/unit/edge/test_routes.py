"""Where the edge sends requests, topology by topology."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from stand_ins import LINKED

from mesh.components.keys import key_pair
from mesh.description.ports import load_ports
from mesh.description.topology import GATEWAYS, NOTIFICATION, SERVES, SERVICES, load_topology
from mesh.edge.component import ACCESS_LOG, write_config
from mesh.edge.envoy import render
from mesh.edge.plan import EdgePlan
from mesh.edge.routes import OF_GATEWAYS, OF_SERVICES, routes
from mesh.envoy_config import command
from mesh.paths import RunFolder

PORTS = load_ports({"SHOP_PORT_BASE": "30000"})


def test_every_gateway_and_service_has_a_route() -> None:
    assert {route.component for route in OF_GATEWAYS} == set(GATEWAYS)
    for protocol, table in OF_SERVICES.items():
        serving = {service for service in SERVICES if protocol in SERVES[service]}
        assert {route.component for route in table} >= serving


def test_a_topology_without_updates_has_no_route_of_theirs() -> None:
    assert not [route for route in routes(load_topology("grpc")) if route.streams or route.component == NOTIFICATION]


@pytest.mark.parametrize(
    ("name", "behind"),
    [
        ("rest", {"order": 30031, "product": 30021, "user": 30041, "payment": 30051}),
        ("grpc", {"product": 30020, "user": 30040, "payment": 30050, "order": 30030}),
        ("hybrid", {"graphql-gateway": 30010, "rest-gateway": 30011}),
    ],
)
def test_clusters_have_the_run_s_ports(name: str, behind: dict[str, int]) -> None:
    config: dict[str, Any] = render(EdgePlan(load_topology(name), PORTS, Path("/logs/edge.jsonl")))
    found = {}
    for cluster in config["static_resources"]["clusters"]:
        (endpoints,) = cluster["load_assignment"]["endpoints"]
        (endpoint,) = endpoints["lb_endpoints"]
        found[cluster["name"]] = endpoint["endpoint"]["address"]["socket_address"]["port_value"]
    assert found == {**behind, "jaeger-otlp": 30070}


def test_a_user_s_orders_are_looked_for_before_the_users() -> None:
    order = [route.path for route in routes(load_topology("rest"))]
    assert order.index("/v1/users/[^/]+/orders") < order.index("/v1/users")


@pytest.mark.integration
@pytest.mark.parametrize("plugins", ["none", "typical", "all"])
@pytest.mark.parametrize("name", LINKED)
def test_envoy_takes_the_configuration(name: str, plugins: str, folder: RunFolder) -> None:
    key = key_pair(folder.keys).public.read_text()
    plan = EdgePlan(load_topology(name), PORTS, folder.logs / ACCESS_LOG, plugins=plugins, jwt_public_key=key)
    file = write_config(folder.config / "envoy.yaml", render(plan))
    done = subprocess.run(command(file, "--mode", "validate"), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "deprecated" not in done.stderr.lower()
