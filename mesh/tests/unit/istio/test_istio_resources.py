from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import yaml

from mesh.description.ports import load_ports
from mesh.description.switches import parse_switches
from mesh.description.topology import Topology, load_topology, parse_topology
from mesh.envoy_replies import UNSENT
from mesh.istio.mesh import IstioMesh
from mesh.istio.resource import MADE_FOR, ROOT_NAMESPACE, Resource, write_resources
from mesh.paths import RunFolder
from mesh.sidecars.workloads import workloads

MIXED = """
name: mixed
about: Product is asked in two protocols
entry: {web: graphql-gateway, mobile: graphql-gateway, partner: graphql-gateway}
links:
  graphql-gateway: {product: rest, order: grpc, user: grpc, payment: grpc}
  order:           {product: grpc, user: grpc, payment: grpc}
"""


def make(topology: Topology | str = "hybrid", **given: str) -> list[Resource]:
    chosen = load_topology(topology) if isinstance(topology, str) else topology
    switches, ports = parse_switches(mesh="istio", **given), load_ports({})
    folder = RunFolder.of(ports.base)
    all_workloads = workloads(chosen, ports, folder, canary=switches.canary > 0)
    return IstioMesh(all_workloads, chosen, ports, switches, folder).resources


def spec(mesh: Sequence[Resource], kind: str, name: str) -> Mapping[str, Any]:
    (one,) = [resource for resource in mesh if (resource.kind, resource.name) == (kind, name)]
    return one.spec


def routes(mesh: Sequence[Resource], service: str) -> dict[str, Mapping[str, Any]]:
    return {route["name"]: route for route in spec(mesh, "VirtualService", service)["http"]}


@pytest.mark.parametrize("updates", ["off", "on"])
def test_only_long_lived_answers_have_no_time_limit(updates: str) -> None:
    mesh = make(load_topology("hybrid", updates=updates))
    unlimited = {
        (resource.name, name)
        for resource in mesh
        if resource.kind == "VirtualService"
        for name, route in routes(mesh, resource.name).items()
        if "timeout" not in route
    }
    lasting = {
        ("graphql-gateway", "edge-lasting"),
        ("rest-gateway", "edge-lasting"),
        ("notification", "graphql-gateway-lasting"),
        ("notification", "order-lasting"),
        ("notification", "rest-gateway-lasting"),
    }
    assert unlimited == (lasting if updates == "on" else set())
    if updates == "on":
        assert next(iter(routes(mesh, "rest-gateway"))) == "edge-lasting", "the first that matches counts"


def test_without_mtls_callers_need_no_identity() -> None:
    mesh = make()
    assert not [resource for resource in mesh if resource.kind == "AuthorizationPolicy"]
    assert spec(mesh, "PeerAuthentication", "default") == {"mtls": {"mode": "DISABLE"}}
    assert spec(mesh, "DestinationRule", "product")["trafficPolicy"]["tls"] == {"mode": "DISABLE"}
    assert spec(make(mtls="on"), "PeerAuthentication", "default") == {"mtls": {"mode": "STRICT"}}


def test_calls_that_change_nothing_are_repeated_once_and_others_only_if_no_instance_has_seen_them() -> None:
    over_grpc = routes(make(), "order")["graphql-gateway-repeatable"]
    assert {match["uri"]["exact"].rpartition("/")[2] for match in over_grpc["match"]} == {
        "GetOrder",
        "BatchGetOrders",
        "ListOrdersByUser",
        "StreamOrderLines",
    }
    assert over_grpc["retries"]["attempts"] == 1
    over_rest = routes(make("rest-bff"), "order")
    assert over_rest["rest-gateway-repeatable"]["match"] == [
        {"sourceLabels": {"app": "rest-gateway"}, "method": {"exact": "GET"}}
    ]
    assert over_rest["rest-gateway-repeatable"]["retries"]["retryOn"].startswith("connect-failure,")
    assert "gateway-error" in over_rest["rest-gateway-repeatable"]["retries"]["retryOn"]
    unsent = {"attempts": 1, "retryOn": "connect-failure,refused-stream,retriable-headers"}
    assert over_rest["rest-gateway-once"]["retries"] == unsent
    assert over_rest["rest-gateway-once"]["headers"] == {"response": {"remove": [UNSENT]}}
    assert list(routes(make("graphql"), "order")) == ["graphql-gateway-once"]


def test_with_admission_refusals_eject_no_instance_that_clients_reach() -> None:
    mesh, counted = make(admission="on"), {}
    for service in ("rest-gateway", "product"):
        (port,) = spec(mesh, "DestinationRule", service)["trafficPolicy"]["portLevelSettings"]
        rule = port["outlierDetection"]
        counted[service] = (rule["consecutiveGatewayErrors"], rule.get("consecutiveLocalOriginFailures"))
    assert counted == {"rest-gateway": (0, 5), "product": (5, None)}


@pytest.mark.parametrize("direction", ["inbound", "outbound"])
def test_only_the_callee_s_sidecar_marks_requests_that_it_could_not_forward(direction: str) -> None:
    patches = spec(make(), "EnvoyFilter", "order")["configPatches"]
    (replies,) = [
        patch["patch"]["value"]["typed_config"]["local_reply_config"]
        for patch in patches
        if patch["match"]["context"] == f"SIDECAR_{direction.upper()}" and patch["applyTo"] == "NETWORK_FILTER"
    ]
    assert (UNSENT in json.dumps(replies)) == (direction == "inbound")
    assert "application/problem+json" in json.dumps(replies)
    routed = spec(make(), "EnvoyFilter", "time-limits")["configPatches"][1]["patch"]["value"]["route"]
    assert routed["retry_policy"]["retriable_headers"] == [{"name": UNSENT, "present_match": True}]


def test_each_caller_reaches_the_port_of_its_protocol() -> None:
    ports = load_ports({})
    mesh = routes(make(parse_topology(MIXED, "mixed.yaml")), "product")
    reached = {name: route["route"][0]["destination"]["port"]["number"] for name, route in mesh.items()}
    assert reached == {
        "order-repeatable": ports["product-grpc"],
        "order-once": ports["product-grpc"],
        "graphql-gateway-repeatable": ports["product-rest"],
        "graphql-gateway-once": ports["product-rest"],
    }


def test_the_canary_s_share_and_faults_are_in_every_route() -> None:
    mesh = make(canary="10", delay="product:2ms", abort="product:0.5%")
    for route in routes(mesh, "product").values():
        shares = {target["destination"]["subset"]: target["weight"] for target in route["route"]}
        assert shares == {"stable": 90, "canary": 10}
        assert route["fault"] == {
            "delay": {"percentage": {"value": 100.0}, "fixedDelay": "0.002000s"},
            "abort": {"percentage": {"value": 0.5}, "grpcStatus": "UNAVAILABLE"},
        }
    assert all("fault" not in route for route in routes(mesh, "user").values())
    over_rest = routes(make("rest-bff", abort="user:1%"), "user")["rest-gateway-once"]["fault"]
    assert over_rest == {"abort": {"percentage": {"value": 1.0}, "httpStatus": 503}}


def test_a_sidecar_s_listeners() -> None:
    ports, folder = load_ports({}), RunFolder.of(load_ports({}).base)
    order = spec(make(), "Sidecar", "order")
    assert [(item["bind"], item["port"]["number"], item["defaultEndpoint"]) for item in order["ingress"]] == [
        (ports.addresses["order"], ports["order-grpc"], f"unix://{folder.sockets}/order-grpc.sock")
    ]
    callees = ("product", "user", "payment", "jaeger")
    assert [item["bind"] for item in order["egress"]] == [
        f"unix://{folder.sockets}/order-to-{callee}.sock" for callee in callees
    ]
    assert "ingress" not in spec(make(), "Sidecar", "edge"), "clients are outside of the mesh"


def test_each_resource_names_its_link_or_component(tmp_path: Any) -> None:
    mesh = make("rest", mtls="on")
    assert {resource.made_for for resource in mesh if resource.kind == "AuthorizationPolicy"} == {
        "mtls=on",
        *(f"link client -> {service}" for service in ("product", "order", "user", "payment")),
        *(f"link order -> {service}" for service in ("product", "user", "payment")),
    }
    file = tmp_path / "mesh.yaml"
    write_resources(mesh, file)
    documents = list(yaml.safe_load_all(file.read_text()))
    assert all(document["metadata"]["annotations"][MADE_FOR] for document in documents)
    keys = [(each["kind"], each["metadata"]["namespace"], each["metadata"]["name"]) for each in documents]
    assert len(keys) == len(set(keys))
    assert {namespace for _, namespace, _ in keys} == {"default", ROOT_NAMESPACE}
