"""Where the edge sends requests, topology by topology."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from stand_ins import LINKED

from mesh.components.keys import key_pair
from mesh.description.ports import load_ports
from mesh.description.topology import GATEWAYS, NOTIFICATION, SERVES, SERVICES, load_topology, names
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
    ("name", "path"),
    [
        ("grpc", "/shop.notification.v1.NotificationService/WatchOrder"),
        ("rest", "/v1/orders/17/events"),
        ("rest", "/v1/users/17/notifications/events"),
        ("hybrid", "/v1/orders/17/events"),
        ("hybrid", "/v1/users/17/notifications/events"),
    ],
)
def test_long_lived_answers_have_separate_limits(name: str, path: str) -> None:
    config: dict[str, Any] = render(EdgePlan(load_topology(name, updates="on"), PORTS, Path("/logs/edge.jsonl")))
    manager = config["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
    (host,) = manager["route_config"]["virtual_hosts"]
    first = next(route for route in host["routes"] if _leads(route["match"], path))
    assert (first["route"]["timeout"], first["route"]["idle_timeout"]) == ("0s", "45s")


def _leads(match: dict[str, Any], path: str) -> bool:
    if "headers" in match:
        return False
    if "safe_regex" in match:
        return re.fullmatch(match["safe_regex"]["regex"], path) is not None
    return path == match.get("path") or path.startswith(match.get("prefix", match.get("path_separated_prefix", "\0")))


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


@pytest.mark.parametrize("name", names())
def test_the_transcoder_is_there_only_where_a_channel_enters_by_it(name: str) -> None:
    topology = load_topology(name)
    text = yaml.safe_dump(render(EdgePlan(topology, PORTS, Path("/logs/edge.jsonl"))))
    assert ("grpc_json_transcoder" in text) == topology.transcodes


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
