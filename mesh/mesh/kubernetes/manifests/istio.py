"""What a cluster's own Istio is told of a system: the resources of a native mesh, for pods with injected sidecars."""

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
from mesh.istio.proxies import SPAN_EXPORT, patched, span_patches, time_limits
from mesh.istio.resource import NETWORKING, Naming
from mesh.istio.services import IDLE_TIMEOUT, JAEGER, JAEGER_PORT
from mesh.istio.traffic import traffic_resources
from mesh.kubernetes.manifests.deployment import Document, labels
from mesh.kubernetes.options import ClusterOptions
from mesh.kubernetes.places import ClusterPlaces
from mesh.paths import RunFolder
from mesh.sidecars.workloads import TRUST_DOMAIN, workloads

INBOUND = "traffic.sidecar.istio.io/excludeInboundPorts"
EXCLUDED = (POSTGRES, JAEGER_PORT, "jaeger-otlp-http")
"""Ports of what is outside of the mesh: pods call it directly."""


def naming(options: ClusterOptions) -> Naming:
    """How a mesh in a namespace names things; it leaves the rest of the cluster alone."""
    return Naming(options.namespace, options.namespace, f"{options.namespace}.svc.{TRUST_DOMAIN}")


def mesh_resources(
    topology: Topology, switches: Switches, places: ClusterPlaces, options: ClusterOptions
) -> list[Document]:
    """Istio's resources: who may call whom, how calls are made, and what spans they leave."""
    # Their sockets and addresses are for a native mesh; the rest is the same here.
    members = workloads(topology, places.ports, RunFolder(Path()), canary=switches.canary > 0)
    names = naming(options)
    spans = Place(options.collector or names.host(JAEGER), places.reached(JAEGER_PORT)[0].port)
    seen = {**_SIDECAR, "egress": [{"hosts": ["./*", *([f"*/{options.collector}"] if options.collector else [])]}]}
    resources = [
        *access_resources(members, topology, switches, names),
        *traffic_resources(members, topology, switches, names),
        time_limits(names),
        *(patched(member, span_patches(member, spans, names), names) for member in members),
        names.shared("Sidecar", "default", "all links", seen, NETWORKING),
    ]
    made: list[Document] = []
    for resource in resources:
        document = resource.document()
        document["metadata"]["labels"] = labels(resource.name, options)
        made.append(document)
    return made


def pod_annotations(
    component: str, switches: Switches, places: ClusterPlaces, options: ClusterOptions
) -> Mapping[str, str]:
    """What Istio is told of the sidecar of a component's pods."""
    excluded = [*(str(places.reached(name)[0].port) for name in EXCLUDED), str(options.managed_port)]
    # Clients are outside of the mesh: the edge's sidecar is for its calls only. So is whoever asks for metrics.
    open_to_all = [
        *([EDGE] if component == EDGE else []),
        *([metrics_port(component)] if switches.metrics == "on" else []),
    ]
    door = {INBOUND: ",".join(str(places.ports[name]) for name in open_to_all)} if open_to_all else {}
    return {
        "proxy.istio.io/config": json.dumps(_PROXY),
        "sidecar.istio.io/proxyCPU": "10m",
        "sidecar.istio.io/proxyCPULimit": "2",
        "sidecar.istio.io/proxyMemory": "64Mi",
        "sidecar.istio.io/proxyMemoryLimit": "256Mi",
        "traffic.sidecar.istio.io/excludeOutboundPorts": ",".join(excluded),
        **door,
    }


_PROXY: Mapping[str, Any] = {
    # One worker, as the edge has.
    "concurrency": 1,
    "holdApplicationUntilProxyStarts": True,
    "proxyHeaders": PROXY_HEADERS,
    # What gates look at; by itself, a sidecar keeps few counters.
    "proxyStatsMatcher": {"inclusionRegexps": [r".*\.update_rejected$", r"listener\..*\.ssl\.handshake$"]},
    "runtimeValues": {name: str(value) for name, value in SPAN_EXPORT.items()},
}
_SIDECAR: Mapping[str, Any] = {
    "outboundTrafficPolicy": {"mode": "REGISTRY_ONLY"},
    "inboundConnectionPool": {"http": {"idleTimeout": IDLE_TIMEOUT}},
}
