from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from mesh.description.ports import Ports, load_ports
from mesh.description.topology import SERVICES, load_topology
from mesh.edge.envoy import CORS, render
from mesh.edge.plan import EdgePlan
from mesh.sidecars.certificates import Certificate

PORTS = load_ports({"SHOP_PORT_BASE": "30000"})


def render_edge(topology: str = "hybrid", ports: Ports = PORTS) -> dict[str, Any]:
    return render(EdgePlan(load_topology(topology), ports, Path("/logs/edge.jsonl")))


def manager(config: dict[str, Any]) -> dict[str, Any]:
    (listener,) = config["static_resources"]["listeners"]
    found: dict[str, Any] = listener["filter_chains"][0]["filters"][0]["typed_config"]
    return found


def routes(config: dict[str, Any]) -> list[dict[str, Any]]:
    (host,) = manager(config)["route_config"]["virtual_hosts"]
    found: list[dict[str, Any]] = host["routes"]
    return found


def test_a_component_gets_as_many_requests_at_once_over_every_protocol() -> None:
    at_once = {}
    for topology in ("rest", "graphql", "grpc"):
        for cluster in render_edge(topology)["static_resources"]["clusters"]:
            (limit,) = cluster.get("circuit_breakers", {}).get("thresholds", [None])
            if limit is not None:
                over_http2 = "http2_protocol_options" in str(cluster["typed_extension_protocol_options"])
                waiting = limit["max_connections"] + limit["max_pending_requests"]
                at_once[topology, cluster["name"]] = limit["max_requests"] if over_http2 else waiting
    assert {topology for topology, _ in at_once} == {"rest", "graphql", "grpc"}
    assert set(at_once.values()) == {1280}


def test_http_3_differs_from_the_other_versions_in_its_transport_alone() -> None:
    shown = Certificate(Path("/keys/chain.pem"), Path("/keys/key.pem"), Path("/keys/root.pem"))
    plan = EdgePlan(load_topology("hybrid"), PORTS, Path("/logs/edge.jsonl"), certificate=shown, quic=True)
    tcp, udp = render(plan)["static_resources"]["listeners"]
    assert udp["address"]["socket_address"] == {**tcp["address"]["socket_address"], "protocol": "UDP"}
    managers = [one["filter_chains"][0]["filters"][0]["typed_config"] for one in (tcp, udp)]
    differing = {name for name in managers[0] | managers[1] if managers[0].get(name) != managers[1].get(name)}
    assert differing == {"codec_type", "http2_protocol_options", "http3_protocol_options"}
    tls = [one["filter_chains"][0]["transport_socket"]["typed_config"] for one in (tcp, udp)]
    contexts = [tls[0]["common_tls_context"], tls[1]["downstream_tls_context"]["common_tls_context"]]
    assert [context.pop("alpn_protocols") for context in contexts] == [["h2", "http/1.1"], ["h3"]]
    assert contexts[0] == contexts[1]


def filters(topology: str) -> list[str]:
    return [one["name"].removeprefix("envoy.filters.http.") for one in manager(render_edge(topology))["http_filters"]]


def test_pages_of_other_origins_may_make_calls_and_nothing_else() -> None:
    for name in ("grpc-web", "connect"):
        every = routes(render_edge(name))
        admitted = [route["match"] for route in every if CORS in route.get("typed_per_filter_config", {})]
        calls = [one for one in admitted if str(one.get("prefix") or one.get("path")).startswith("/shop.")]
        assert calls == admitted
        assert len([one for one in calls if "headers" not in one]) == len(SERVICES) - 1
        # The route for preflights precedes the route that refuses every method except POST.
        first, *_ = (route for route in every if str(route["match"].get("prefix")).startswith("/shop."))
        assert first["match"] == admitted[0]
        assert {"name": ":method", "string_match": {"exact": "OPTIONS"}} in first["match"]["headers"]
    assert filters("grpc-web") == ["cors", "grpc_web", "buffer", "router"]
    assert filters("connect") == ["cors", "buffer", "router"]
    assert "cors" not in filters("grpc")


def test_the_edge_compresses_only_transcoded_answers() -> None:
    assert filters("hybrid") == ["buffer", "router"]
    # Answers pass the filters from the last to the first: transcoded, then compressed.
    assert filters("hybrid-transcoded") == ["buffer", "compressor", "grpc_json_transcoder", "router"]


def test_a_gateway_s_answers_are_not_the_edge_s_to_compress() -> None:
    left_alone = {
        route["route"]["cluster"]
        for route in routes(render_edge("hybrid-transcoded"))
        if route.get("typed_per_filter_config", {}).get("envoy.filters.http.compressor", {}).get("disabled")
    }
    assert left_alone == {"graphql-gateway"}


def test_replicas_are_checked_and_unsent_requests_go_to_another() -> None:
    ports = replace(PORTS, replicas={"rest-gateway": 2, "product": 2})
    for topology, component, asked in (("hybrid", "rest-gateway", "http"), ("grpc", "product", "grpc")):
        config = render_edge(topology, ports)
        (several,) = [one for one in config["static_resources"]["clusters"] if "health_checks" in one]
        assert (several["name"], several["type"]) == (component, "STATIC")
        assert f"{asked}_health_check" in several["health_checks"][0]
        assert len(several["load_assignment"]["endpoints"][0]["lb_endpoints"]) == 2
        repeated = {
            route["route"]["cluster"]: route["route"]["retry_policy"]["retry_on"]
            for route in routes(config)
            if "retry_policy" in route.get("route", {})
        }
        assert repeated == {component: "connect-failure,refused-stream"}
