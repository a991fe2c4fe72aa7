"""Resources for what Istio's own have no word for: how a sidecar names its spans, and the caller's remaining time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mesh.envoy_config import TYPES
from mesh.istio.resource import ENVOY, ROOT_NAMESPACE, TELEMETRY, Resource
from mesh.istio.services import JAEGER_HOST, JAEGER_PORT, selector
from mesh.ports import Ports
from mesh.sidecars.workloads import Workload

TRACES = "jaeger"
"""The extension provider of the mesh configuration that spans go to."""
MANAGER = "envoy.filters.network.http_connection_manager"
ROUTER = "envoy.filters.http.router"


def proxy_resources(workloads: Sequence[Workload], ports: Ports) -> list[Resource]:
    """Tracing, and the patches of each sidecar's own configuration.

    Args:
        workloads: Every workload of the mesh.
        ports: Ports of the run.
    """
    # A request that brings a trace context keeps its sampling decision; one without is traced.
    tracing = {"providers": [{"name": TRACES}], "randomSamplingPercentage": 100.0, "enableIstioTags": False}
    return [
        Resource("Telemetry", "tracing", "component jaeger", {"tracing": [tracing]}, TELEMETRY, ROOT_NAMESPACE),
        Resource("EnvoyFilter", "time-limits", "all links", _time_limits(), ENVOY, ROOT_NAMESPACE),
        *(
            Resource("EnvoyFilter", workload.name, f"component {workload.name}", _spans(workload, ports), ENVOY)
            for workload in workloads
        ),
    ]


def _time_limits() -> dict[str, Any]:
    # The time that the caller has left comes in x-envoy-expected-rq-timeout-ms. It is the sidecar's limit too.
    router = {"@type": f"{TYPES}/envoy.extensions.filters.http.router.v3.Router", "respect_expected_rq_timeout": True}
    match = {"listener": {"filterChain": {"filter": {"name": MANAGER, "subFilter": {"name": ROUTER}}}}}
    value = {"name": ROUTER, "typed_config": router}
    patch = {"applyTo": "HTTP_FILTER", "match": match, "patch": {"operation": "MERGE", "value": value}}
    return {"configPatches": [patch]}


def _spans(workload: Workload, ports: Ports) -> dict[str, Any]:
    directions = {"SIDECAR_OUTBOUND": "outbound", **({"SIDECAR_INBOUND": "inbound"} if workload.inbound else {})}
    return {
        "workloadSelector": selector(workload),
        "configPatches": [
            _span_patch(context, f"{workload.name}-{direction}", ports) for context, direction in directions.items()
        ],
    }


def _span_patch(context: str, service_name: str, ports: Ports) -> dict[str, Any]:
    provider = {
        "name": "envoy.tracers.opentelemetry",
        "typed_config": {
            "@type": f"{TYPES}/envoy.config.trace.v3.OpenTelemetryConfig",
            "service_name": service_name,
            "grpc_service": {
                "envoy_grpc": {"cluster_name": f"outbound|{ports[JAEGER_PORT]}||{JAEGER_HOST}"},
                "timeout": "1s",
            },
        },
    }
    tracing = {
        # A SERVER span for the sidecar and a CLIENT span for what it sends on: this keeps its own time and its wires
        # apart.
        "spawn_upstream_span": True,
        # Replaces Envoy's own tag, which includes the query; a query may hold personal data.
        "custom_tags": [{"tag": "http.url", "value": "%REQ(:SCHEME)%://%REQ(:AUTHORITY)%%PATH(NQ)%"}],
        "provider": provider,
    }
    manager = {
        "@type": f"{TYPES}/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "tracing": tracing,
    }
    match = {"context": context, "listener": {"filterChain": {"filter": {"name": MANAGER}}}}
    patch = {"operation": "MERGE", "value": {"name": MANAGER, "typed_config": manager}}
    return {"applyTo": "NETWORK_FILTER", "match": match, "patch": patch}
