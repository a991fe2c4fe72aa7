"""The edge's Envoy configuration, made from a topology and the ports of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from mesh.paths import ROOT, RunFolder, envoy
from mesh.ports import HOST, Ports
from mesh.processes import Component
from mesh.readiness import http_ok
from mesh.topology import Topology

EDGE = "edge"
OTLP_CLUSTER = "jaeger-otlp"
BASE_FILE = ROOT / "gateway" / "envoy" / "edge.yaml"
"""What does not depend on the topology."""
TYPES = "type.googleapis.com"


@dataclass(frozen=True)
class Route:
    """Where the edge sends requests.

    Attributes:
        path: an exact path, or, with `below`, a path and everything under it.
        cluster: the component it leads to.
        below: whether paths under it count too.
    """

    path: str
    cluster: str
    below: bool = True


ROUTES: dict[str, tuple[tuple[str, bool], ...]] = {
    "graphql-gateway": (("/graphql", True),),
    "rest-gateway": (("/v1", True), ("/docs", True), ("/openapi.json", False)),
}
"""The paths that lead to each entry component, and whether the paths below them do too."""


def routes(topology: Topology) -> list[Route]:
    """The edge's routes for a topology."""
    return [Route(path, gateway, below) for gateway in topology.gateways for path, below in ROUTES[gateway]]


def render(topology: Topology, ports: Ports, access_log: Path) -> dict[str, Any]:
    """Envoy's whole configuration.

    Args:
        topology: whose entry components the edge leads to.
        ports: of the run.
        access_log: the file of the JSON access log.

    Returns:
        The configuration as plain data, ready for YAML.
    """
    config: dict[str, Any] = yaml.safe_load(BASE_FILE.read_text())
    config["admin"]["address"] = _address(ports["edge-admin"])
    resources = config["static_resources"]
    (listener,) = resources["listeners"]
    listener["address"] = _address(ports[EDGE])
    manager = listener["filter_chains"][0]["filters"][0]["typed_config"]
    manager["access_log"][0]["typed_config"]["path"] = str(access_log)
    (host,) = manager["route_config"]["virtual_hosts"]
    action = host.pop("upstream_action")
    host["routes"] += [_route(route, action) for route in routes(topology)]
    upstream, collector = resources["clusters"]
    resources["clusters"] = [
        *({**upstream, **_endpoint(gateway, ports[gateway])} for gateway in topology.gateways),
        {**collector, **_endpoint(OTLP_CLUSTER, ports["jaeger-otlp-grpc"])},
    ]
    return config


def envoy_component(topology: Topology, ports: Ports, folder: RunFolder) -> Component:
    """What to run for the edge; writes its configuration into the run's folder.

    Raises:
        NotInstalledError: there is no Envoy program.
    """
    file = write_config(topology, ports, folder)
    return Component(
        EDGE,
        argv=lambda: command(file),
        ready=http_ok(ports["edge-admin"], "/ready"),
        stop_rank=0,
    )


def write_config(topology: Topology, ports: Ports, folder: RunFolder) -> Path:
    """Write the edge's configuration into the run's folder, and tell where it is."""
    file = folder.config / "envoy.yaml"
    file.write_text(yaml.safe_dump(render(topology, ports, folder.logs / "edge.access.jsonl"), sort_keys=False))
    return file


def command(file: Path, *extra: str) -> Sequence[str]:
    """Envoy's command line for a configuration file.

    Raises:
        NotInstalledError: there is no Envoy program.
    """
    # One worker: on the few cores of a test machine more would only take turns. No hot restart: its shared memory
    # would tie two runs of one machine together.
    options = ["--concurrency", "1", "--disable-hot-restart", "--log-level", "warning"]
    return [str(envoy()), "-c", str(file), *options, *extra]


def _address(port: int) -> dict[str, Any]:
    return {"socket_address": {"address": HOST, "port_value": port}}


def _endpoint(name: str, port: int) -> dict[str, Any]:
    endpoint = {"endpoint": {"address": _address(port)}}
    return {"name": name, "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [endpoint]}]}}


def _route(route: Route, action: dict[str, Any]) -> dict[str, Any]:
    match = {"path_separated_prefix": route.path} if route.below else {"path": route.path}
    return {"match": match, "route": {"cluster": route.cluster, **action}}
