"""Patches for settings that Istio's resources cannot express: names of spans, the caller's remaining time, local
replies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mesh.description.places import Place
from mesh.description.ports import Ports
from mesh.envoy_config import TYPES, base_config
from mesh.envoy_replies import RETRIED_UNSENT, sidecar_replies
from mesh.istio.resource import ENVOY, NATIVE, ROOT_NAMESPACE, TELEMETRY, Naming, Resource
from mesh.istio.services import JAEGER, JAEGER_PORT, selector
from mesh.sidecars.envoy import BASE_FILE, name_spans
from mesh.sidecars.workloads import Outbound, Workload, host

TRACES = "jaeger"
"""Name of the extension provider, in the mesh configuration, to which sidecars send their spans."""
MANAGER = "envoy.filters.network.http_connection_manager"
ROUTER = "envoy.filters.http.router"
SPAN_EXPORT = {"tracing.opentelemetry.flush_interval_ms": 200, "tracing.opentelemetry.min_flush_spans": 512}
"""Envoy's runtime: spans are exported soon after they end, so that draining them after a trial is quick."""
SHARED = ("internal_address_config", "early_header_mutation_extensions", "http2_protocol_options", "tracing")
"""Settings that are copied from the sidecars' configuration for mesh=envoy."""


def proxy_resources(workloads: Sequence[Workload], ports: Ports) -> list[Resource]:
    """The resource for tracing, and the patches to the sidecars' configuration."""
    # A request with a trace context keeps its sampling decision; a request without a trace context is traced.
    tracing = {"providers": [{"name": TRACES}], "randomSamplingPercentage": 100.0, "enableIstioTags": False}
    jaeger = Place(NATIVE.host(JAEGER), ports[JAEGER_PORT])
    return [
        Resource("Telemetry", "tracing", "component jaeger", {"tracing": [tracing]}, TELEMETRY, ROOT_NAMESPACE),
        time_limits(),
        *(
            sidecar_patches(workload, [*span_patches(workload, jaeger), *map(_domain_patch, workload.outbound)])
            for workload in workloads
        ),
    ]


def span_patches(workload: Workload, to: Place, naming: Naming = NATIVE) -> list[dict[str, Any]]:
    """Patches that give a sidecar's spans their names, one for each direction, and send them to a service."""
    directions = {"SIDECAR_OUTBOUND": "outbound", **({"SIDECAR_INBOUND": "inbound"} if workload.inbound else {})}
    # In a cluster, one patch applies to all pods of a component.
    instance = workload.name if naming is NATIVE else None
    return [_manager_patch(context, workload, name, to, instance) for context, name in directions.items()]


def time_limits(naming: Naming = NATIVE) -> Resource:
    """Makes every sidecar apply the caller's remaining time, and retry requests that reached no instance."""
    # The caller's remaining time arrives in x-envoy-expected-rq-timeout-ms. It is the sidecar's limit too.
    router = {"@type": f"{TYPES}/envoy.extensions.filters.http.router.v3.Router", "respect_expected_rq_timeout": True}
    match = {"listener": {"filterChain": {"filter": {"name": MANAGER, "subFilter": {"name": ROUTER}}}}}
    value = {"name": ROUTER, "typed_config": router}
    # With Istio's routes, Envoy writes its own limit into grpc-timeout, even if the caller's limit is shorter. Envoy
    # does not change the header where a route limits the duration of streams; 0 is no limit.
    routed = {"vhost": {"route": {"action": "ROUTE"}}}
    # A VirtualService cannot name the header that its `retriable-headers` looks for.
    retry = {"retriable_headers": RETRIED_UNSENT["retriable_headers"]}
    stream = {"route": {"max_stream_duration": {"max_stream_duration": "0s"}, "retry_policy": retry}}
    patches = [
        {"applyTo": "HTTP_FILTER", "match": match, "patch": {"operation": "MERGE", "value": value}},
        {
            "applyTo": "HTTP_ROUTE",
            "match": {"context": "SIDECAR_OUTBOUND", "routeConfiguration": routed},
            "patch": {"operation": "MERGE", "value": stream},
        },
    ]
    return naming.mesh_resource("EnvoyFilter", "time-limits", "all links", {"configPatches": patches}, ENVOY)


def sidecar_patches(workload: Workload, patches: Sequence[dict[str, Any]], naming: Naming = NATIVE) -> Resource:
    """Patches to the configuration of one workload's sidecar."""
    spec = {"workloadSelector": selector(workload), "configPatches": list(patches)}
    return naming.resource("EnvoyFilter", workload.name, f"component {workload.name}", spec, ENVOY)


def _domain_patch(outbound: Outbound) -> dict[str, Any]:
    # For a listener on a socket, Istio gives a host only domains with a port, and makes Envoy compare hosts without a
    # port.
    route = {"name": f"unix://{outbound.socket}", "vhost": {"name": outbound.authority}}
    match = {"context": "SIDECAR_OUTBOUND", "routeConfiguration": route}
    patch = {"operation": "MERGE", "value": {"domains": [host(outbound.callee)]}}
    return {"applyTo": "VIRTUAL_HOST", "match": match, "patch": patch}


def _manager_patch(context: str, workload: Workload, direction: str, to: Place, instance: str | None) -> dict[str, Any]:
    (listener,) = base_config(BASE_FILE)["static_resources"]["listeners"]
    static = listener["filter_chains"][0]["filters"][0]["typed_config"]
    manager = {name: static[name] for name in ("@type", *SHARED)}
    # Istio samples 1 % by default; a call with a trace context always keeps its decision only if all calls may be
    # sampled.
    manager["tracing"]["random_sampling"] = {"value": 100.0}
    manager["local_reply_config"] = sidecar_replies(inbound=direction == "inbound")
    # Istio's provider has one name for both directions. A patch replaces the whole provider.
    provider = manager["tracing"]["provider"]["typed_config"]
    name_spans(provider, workload, direction, instance)
    # Without an authority, Envoy sends the cluster's name, which the receiving Envoy refuses.
    provider["grpc_service"]["envoy_grpc"] = {"cluster_name": f"outbound|{to.port}||{to.host}", "authority": str(to)}
    match = {"context": context, "listener": {"filterChain": {"filter": {"name": MANAGER}}}}
    patch = {"operation": "MERGE", "value": {"name": MANAGER, "typed_config": manager}}
    return {"applyTo": "NETWORK_FILTER", "match": match, "patch": patch}
