"""The edge's Envoy configuration, made from a topology and the ports of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from mesh.edge_replies import mappers
from mesh.envoy_config import (
    DESCRIPTOR,
    EDGE_FILE,
    OTLP_CLUSTER,
    TYPES,
    base_config,
    command,
    endpoints,
    pipe_address,
    tcp_address,
)
from mesh.paths import RunFolder
from mesh.ports import HOST, Ports
from mesh.processes import Component
from mesh.readiness import http_ok
from mesh.sidecars.workloads import Workload
from mesh.topology import EDGE, GATEWAYS, SERVICES, Protocol, Topology, port_name

ACCESS_LOG = "edge.access.jsonl"
"""In the folder of the logs; a JSON object for each request, complete once the edge has stopped."""
COMPRESSOR = "envoy.filters.http.compressor"


Route = tuple[str, Mapping[str, Any]]
"""A component, and Envoy's match of the paths that lead to it."""


def _exactly(component: str, path: str) -> Route:
    return component, {"path": path}


def _below(component: str, path: str) -> Route:
    return component, {"path_separated_prefix": path}


OF_GATEWAYS: Sequence[Route] = (
    _below("graphql-gateway", "/graphql"),
    _below("rest-gateway", "/v1"),
    _below("rest-gateway", "/docs"),
    _exactly("rest-gateway", "/openapi.json"),
)
OF_SERVICES: Mapping[Protocol, Sequence[Route]] = {
    Protocol.REST: (
        # A user's orders are the order service's; so this comes before the users.
        ("order", {"safe_regex": {"regex": "/v1/users/[^/]+/orders"}}),
        _below("product", "/v1/products"),
        _below("product", "/v1/reviews"),
        _below("product", "/v1/product-rows"),
        _below("user", "/v1/users"),
        _exactly("user", "/v1/sessions"),
        # Also `/v1/orders/17:cancel`, which is below it.
        _below("order", "/v1/orders"),
        _below("order", "/v1/order-lines"),
        _below("payment", "/v1/payments"),
    ),
    # The services refuse what only services may call: the edge marks its requests.
    Protocol.GRPC: [
        (service, {"prefix": f"/shop.{service}.v1.{service.capitalize()}Service/"}) for service in SERVICES
    ],
}


def routes(topology: Topology) -> list[Route]:
    """The edge's routes for a topology; the first that matches a path counts."""
    to_gateways = [route for gateway in topology.gateways for route in OF_GATEWAYS if route[0] == gateway]
    protocols = sorted(set(topology.exposed.values()))
    return to_gateways + [route for protocol in protocols for route in OF_SERVICES[protocol]]


def render(topology: Topology, ports: Ports, access_log: Path, sidecar: Workload | None = None) -> dict[str, Any]:
    """Envoy's whole configuration.

    Args:
        topology: The topology; the edge leads to its entries.
        ports: Ports of the run.
        access_log: File of the JSON access log.
        sidecar: The edge as a part of a mesh, where it sends everything through its sidecar; None without a mesh.

    Returns:
        The configuration as plain data, ready for YAML.
    """
    config = base_config(EDGE_FILE)
    config["admin"]["address"] = tcp_address(HOST, ports["edge-admin"])
    resources = config["static_resources"]
    (listener,) = resources["listeners"]
    listener["address"] = tcp_address(HOST, ports[EDGE])
    manager = listener["filter_chains"][0]["filters"][0]["typed_config"]
    manager["access_log"][0]["typed_config"]["path"] = str(access_log)
    manager["local_reply_config"] = {"mappers": mappers()}
    (host,) = manager["route_config"]["virtual_hosts"]
    action = host.pop("upstream_action")
    behind = topology.behind_edge
    host["routes"] += [
        _route(component, match, action, behind[component], compresses=topology.transcodes)
        for component, match in routes(topology)
    ]
    through = {outbound.callee: outbound for outbound in sidecar.outbound} if sidecar else {}
    for route in host["routes"]:
        if (called := through.get(route.get("route", {}).get("cluster"))) is not None:
            route["route"]["host_rewrite_literal"] = called.authority
    buffer, compressor, transcoder, router = manager["http_filters"]
    transcoder["typed_config"]["proto_descriptor"] = str(DESCRIPTOR)
    manager["http_filters"] = [buffer, *([compressor, transcoder] if topology.transcodes else []), router]
    addresses = {
        component: tcp_address(HOST, ports[port_name(component, protocol)]) for component, protocol in behind.items()
    } | {callee: pipe_address(called.socket) for callee, called in through.items()}
    over_http1, over_http2, collector = resources["clusters"]
    resources["clusters"] = [
        *(
            {
                **(over_http2 if behind[component] is Protocol.GRPC else over_http1),
                **endpoints(component, [addresses[component]]),
            }
            for component in dict.fromkeys(component for component, _ in routes(topology))
        ),
        {**collector, **endpoints(OTLP_CLUSTER, [tcp_address(HOST, ports["jaeger-otlp-grpc"])])},
    ]
    return config


def envoy_component(topology: Topology, ports: Ports, folder: RunFolder, sidecar: Workload | None = None) -> Component:
    """What to run for the edge; writes its configuration into the run's folder.

    Raises:
        NotInstalledError: There is no Envoy program.
    """
    file = write_config(topology, ports, folder, sidecar)
    return Component(EDGE, argv=lambda: command(file), ready=http_ok(ports["edge-admin"], "/ready"))


def write_config(topology: Topology, ports: Ports, folder: RunFolder, sidecar: Workload | None = None) -> Path:
    """Write the edge's configuration into the run's folder, and return its path."""
    file = folder.config / "envoy.yaml"
    file.write_text(yaml.safe_dump(render(topology, ports, folder.logs / ACCESS_LOG, sidecar), sort_keys=False))
    return file


def _route(
    component: str, match: Mapping[str, Any], action: Mapping[str, Any], protocol: Protocol, *, compresses: bool
) -> dict[str, Any]:
    route: dict[str, Any] = {"match": dict(match), "route": {"cluster": component, **action}}
    if protocol is Protocol.GRPC:
        # gRPC resets a call without it, which would be UNAVAILABLE to the client.
        trailers = {"header": {"key": "te", "value": "trailers"}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"}
        route["request_headers_to_add"] = [trailers]
    if compresses and component in GATEWAYS:
        # A gateway compresses its own answers, as it does where there is no transcoder.
        per_route = "envoy.extensions.filters.http.compressor.v3.CompressorPerRoute"
        route["typed_per_filter_config"] = {COMPRESSOR: {"@type": f"{TYPES}/{per_route}", "disabled": True}}
    return route
