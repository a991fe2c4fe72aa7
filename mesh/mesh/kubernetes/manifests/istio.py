"""A system's resources for a cluster's Istio: the same as in a native mesh, but for pods with injected sidecars."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mesh.components.postgres import POSTGRES
from mesh.description.places import Place
from mesh.description.switches import Switches
from mesh.description.topology import EDGE, Topology, metrics_port
from mesh.istio.access import access_resources
from mesh.istio.control_plane import PROXY_HEADERS
from mesh.istio.proxy_patches import SPAN_EXPORT, sidecar_patches, span_patches, time_limits
from mesh.istio.resource import ENVOY, NETWORKING, SECURITY, Naming
from mesh.istio.services import IDLE_TIMEOUT, JAEGER, JAEGER_PORT
from mesh.istio.traffic import traffic_resources
from mesh.kubernetes.manifests.deployment import SCALED, Document, document, labels
from mesh.kubernetes.options import ClusterOptions
from mesh.paths import RunFolder
from mesh.sidecars.workloads import TRUST_DOMAIN, workloads

INBOUND, OUTBOUND = "traffic.sidecar.istio.io/excludeInboundPorts", "traffic.sidecar.istio.io/excludeOutboundPorts"
INJECTED = "sidecar.istio.io/inject"
SPAN_PORTS = (JAEGER_PORT, "jaeger-otlp-http")


def naming(options: ClusterOptions) -> Naming:
    """Names of a mesh in a namespace; it does not touch the rest of the cluster."""
    return Naming(options.namespace, options.namespace, f"{options.namespace}.svc.{TRUST_DOMAIN}")


def mesh_resources(topology: Topology, switches: Switches, options: ClusterOptions) -> list[Document]:
    """Istio's resources: authorization, traffic and tracing."""
    # The workloads' sockets and addresses are for a native mesh; the rest also applies here.
    members = workloads(topology, options.places.ports, RunFolder(Path()), canary=switches.canary > 0)
    names = naming(options)
    spans = Place(options.collector or names.host(JAEGER), options.places.endpoints(JAEGER_PORT)[0].port)
    seen = {**_SIDECAR, "egress": [{"hosts": ["./*", *([f"*/{options.collector}"] if options.collector else [])]}]}
    resources = [
        *access_resources(members, topology, switches, names),
        *traffic_resources(members, topology, switches, names),
        time_limits(names),
        *(sidecar_patches(member, span_patches(member, spans, names), names) for member in members),
        names.mesh_resource("Sidecar", "default", "all links", seen, NETWORKING),
    ]
    made = [resource.document() for resource in resources]
    for resource in made:
        resource["metadata"]["labels"] = labels(resource["metadata"]["name"], options)
    return made


def pod_annotations(component: str, switches: Switches, options: ClusterOptions) -> Mapping[str, str]:
    """Istio's annotations for the sidecar of a component's pods."""
    places = options.places
    # Ports outside of the mesh, which pods call directly.
    outside = [*(places.endpoints(name)[0].port for name in (POSTGRES, *SPAN_PORTS)), options.managed_port]
    # Clients are outside of the mesh: the edge's sidecar handles outbound calls only. Prometheus is outside, too.
    open_to_all = [
        *([EDGE] if component == EDGE else []),
        *([metrics_port(component)] if switches.metrics == "on" else []),
    ]
    door = {INBOUND: ",".join(str(places.ports[name]) for name in open_to_all)} if open_to_all else {}
    return {**_PODS, OUTBOUND: ",".join(map(str, outside)), **door}


def guarded_traces(topology: Topology, options: ClusterOptions) -> list[Document]:
    """Resources that let only the components' identities send spans to Jaeger."""
    names, all_ports = naming(options), options.places.ports
    ports = [all_ports[name] for name in SPAN_PORTS]
    senders = [names.principal(member.service) for member in workloads(topology, all_ports, RunFolder(Path()))]
    rule = {"from": [{"source": {"principals": senders}}], "to": [{"operation": {"ports": list(map(str, ports))}}]}
    allowed = {"selector": {"matchLabels": {"app": JAEGER}}, "action": "ALLOW", "rules": [rule]}
    # A sidecar that forwards exported spans would add a trace of this request. An empty share is 0 %.
    never = {"operation": "MERGE", "value": {"tracing": {"overall_sampling": {}}}}
    exports = [
        {
            "applyTo": "HTTP_ROUTE",
            "match": {"context": "SIDECAR_OUTBOUND", "routeConfiguration": {"vhost": {"name": host}}},
            "patch": never,
        }
        for host in (f"{names.host(JAEGER)}:{port}" for port in ports)
    ]
    return [
        document("AuthorizationPolicy", SECURITY, "spans-to-jaeger", options, of=JAEGER, spec=allowed),
        document("EnvoyFilter", ENVOY, "spans-to-jaeger", options, of=JAEGER, spec={"configPatches": exports}),
    ]


def guarded_traces_patches(options: ClusterOptions) -> list[Document]:
    """Patches that give Jaeger a sidecar, and send spans through the components' sidecars."""
    metadata, outside = "/spec/template/metadata", str(options.managed_port)
    injected = [
        {"op": "replace", "path": f"{metadata}/labels/{_escape(INJECTED)}", "value": "true"},
        {"op": "add", "path": f"{metadata}/annotations", "value": {**_PODS, OUTBOUND: outside}},
    ]
    captured = [{"op": "replace", "path": f"{metadata}/annotations/{_escape(OUTBOUND)}", "value": outside}]
    return [
        {"target": {"kind": "Deployment", "name": JAEGER}, "patch": json.dumps(injected)},
        {"target": {"kind": "Deployment", "labelSelector": SCALED}, "patch": json.dumps(captured)},
    ]


def _escape(key: str) -> str:
    """Escapes a key for a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


_PROXY: Mapping[str, Any] = {
    # One worker thread, as the edge has.
    "concurrency": 1,
    "holdApplicationUntilProxyStarts": True,
    "proxyHeaders": PROXY_HEADERS,
    # Statistics for the gates; by default, a sidecar keeps few counters.
    "proxyStatsMatcher": {"inclusionRegexps": [r".*\.update_rejected$", r"listener\..*\.ssl\.handshake$"]},
    "runtimeValues": {name: str(value) for name, value in SPAN_EXPORT.items()},
}
_PODS: Mapping[str, str] = {
    "proxy.istio.io/config": json.dumps(_PROXY),
    "sidecar.istio.io/proxyCPU": "10m",
    "sidecar.istio.io/proxyCPULimit": "2",
    "sidecar.istio.io/proxyMemory": "64Mi",
    "sidecar.istio.io/proxyMemoryLimit": "256Mi",
}
_SIDECAR: Mapping[str, Any] = {
    "outboundTrafficPolicy": {"mode": "REGISTRY_ONLY"},
    "inboundConnectionPool": {"http": {"idleTimeout": IDLE_TIMEOUT}},
}
