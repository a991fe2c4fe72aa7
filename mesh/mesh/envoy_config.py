"""Pieces of Envoy's configuration that the edge and the sidecars share, and how Envoy is started."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from mesh.description.places import Place
from mesh.description.streams import MAX_STREAMS
from mesh.paths import ROOT, envoy

EDGE_FILE = Path(__file__).parent / "edge" / "templates" / "envoy.yaml"
"""The part of the edge's configuration that does not depend on the topology; the sidecars' clusters are copies of its
clusters."""
DESCRIPTOR = ROOT / "gateway" / "envoy" / "transcoder" / "shop.pb"
"""Descriptors of the contract with its REST paths, made by `make stubs`."""
OTLP_CLUSTER = "jaeger-otlp"
TYPES = "type.googleapis.com"
ON_ANOTHER_INSTANCE: Mapping[str, Any] = {
    "retry_host_predicate": [
        {
            "name": "envoy.retry_host_predicates.previous_hosts",
            "typed_config": {"@type": f"{TYPES}/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate"},
        }
    ],
    "host_selection_retry_max_attempts": 3,
}
"""Makes Envoy retry a request on an instance that it has not tried yet, as Istio does."""
WEBSOCKET = "websocket"
METRICS, METRICS_PATH = "metrics", "/stats/prometheus"
OPTIONS = ("--concurrency", "1", "--log-level", "warning")
"""One worker thread: on the few cores of a test machine, more threads would only compete for CPU time."""
ALONE = "--disable-hot-restart"
"""The option of an Envoy without hot restart: it shares no memory with other Envoys on its machine."""


def base_config(file: Path) -> dict[str, Any]:
    """A copy of one of the project's configuration files; each file is parsed only once."""
    return copy.deepcopy(_parse(file))


@cache
def _parse(file: Path) -> dict[str, Any]:
    config: dict[str, Any] = yaml.load(file.read_text(), Loader=yaml.CSafeLoader)
    return config


def tcp_address(place: Place) -> dict[str, Any]:
    """A TCP address."""
    return {"socket_address": {"address": place.host, "port_value": place.port}}


def pipe_address(path: Path, mode: int | None = None) -> dict[str, Any]:
    """A Unix domain socket; the mode is for a socket that Envoy creates."""
    return {"pipe": {"path": str(path), **({} if mode is None else {"mode": mode})}}


def endpoints(cluster: str, addresses: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The part of a cluster's configuration that has its name and the addresses of its instances."""
    instances = [{"endpoint": {"address": address}} for address in addresses]
    return {"name": cluster, "load_assignment": {"cluster_name": cluster, "endpoints": [{"lb_endpoints": instances}]}}


def holding_streams(cluster: Mapping[str, Any]) -> dict[str, Any]:
    """A cluster whose circuit breakers admit as many concurrent requests as there may be streams."""
    (threshold,) = cluster["circuit_breakers"]["thresholds"]
    most = dict.fromkeys(("max_connections", "max_requests", "max_pending_requests"), MAX_STREAMS)
    return {**cluster, "circuit_breakers": {"thresholds": [{**threshold, **most}]}}


def http_filter(name: str, kind: str, **config: Any) -> dict[str, Any]:
    """One of Envoy's own HTTP filters, such as `router`, with its configuration of this type."""
    full_type = f"{TYPES}/envoy.extensions.filters.http.{name}.v3.{kind}"
    return {"name": f"envoy.filters.http.{name}", "typed_config": {"@type": full_type, **config}}


def show_metrics(config: dict[str, Any], place: Place) -> None:
    """Exposes Envoy's statistics at a port, without the rest of Envoy's admin page, whose address `config` has."""
    manager = {
        "@type": f"{TYPES}/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": METRICS,
        "route_config": {
            "virtual_hosts": [
                {
                    "name": METRICS,
                    "domains": ["*"],
                    "routes": [{"match": {"path": METRICS_PATH}, "route": {"cluster": METRICS}}],
                }
            ]
        },
        "http_filters": [http_filter("router", "Router")],
    }
    filters = [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]
    listener = {
        "address": tcp_address(place),
        "enable_reuse_port": False,
        "filter_chains": [{"filters": filters}],
    }
    config["static_resources"]["listeners"].append({"name": METRICS, **listener})
    config["static_resources"]["clusters"].append(endpoints(METRICS, [config["admin"]["address"]]))


def command(file: Path, *extra: str) -> Sequence[str]:
    """Envoy's command line for a configuration file and further options."""
    return [str(envoy()), "-c", str(file), *OPTIONS, *extra]
