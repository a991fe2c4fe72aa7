"""Access to the edge from outside of the cluster: through the Gateway API of a mesh, or through an Ingress."""

from __future__ import annotations

import json

from mesh.description.switches import Switches
from mesh.description.topology import EDGE, Topology
from mesh.errors import SwitchError
from mesh.istio.resource import NETWORKING, SECURITY
from mesh.kubernetes.manifests.deployment import SERVICE, Document, document, network_policy
from mesh.kubernetes.manifests.policies import autoscaler
from mesh.kubernetes.options import ClusterOptions

GATEWAY_API = "gateway.networking.k8s.io/v1"
GATEWAY = "shop"
GATEWAY_POD = f"{GATEWAY}-istio"
"""The name that Istio gives to the gateway's Deployment and Service."""
PROXY = "istio-proxy"
"""The name that Istio gives to its proxy's container, in a gateway's pod and in a pod with a sidecar."""
PORT, TLS_PORT = 80, 443
"""The gateway's ports, without and with TLS."""
CERTIFICATE = "shop-tls"
"""The secret of the host's certificate; the project does not create it."""


def has_ingress(switches: Switches, options: ClusterOptions) -> bool:
    """Whether production has a gateway or an Ingress, which appends clients' addresses to `x-forwarded-for`."""
    return switches.has_edge and (switches.meshed or options.host is not None)


def ingress(topology: Topology, switches: Switches, options: ClusterOptions) -> list[Document]:
    """Istio's gateway with routes to the edge for the topology's clients; without a mesh, an Ingress.

    Raises:
        SwitchError: All clients speak gRPC, and there is no mesh: an Ingress does not support gRPC.
    """
    port = options.places.ports[EDGE]
    if not switches.meshed:
        return [_ingress(topology, port, options)]
    kinds = {"GRPCRoute" if topology.speaks_grpc(channel) else "HTTPRoute" for channel in topology.entry}
    hosts = {"hostnames": [options.host]} if options.host else {}
    route = {"parentRefs": [{"name": GATEWAY}], **hosts, "rules": [{"backendRefs": [{"name": EDGE, "port": port}]}]}
    # The edge's port is not part of the mesh: its clients have no certificates.
    plain = {"host": EDGE, "trafficPolicy": {"tls": {"mode": "DISABLE"}}}
    made_by = {"parametersRef": {"group": "", "kind": "ConfigMap", "name": GATEWAY_POD}}
    spec = {"gatewayClassName": "istio", "infrastructure": made_by, "listeners": [_listener(options)]}
    return [
        document("ConfigMap", "v1", GATEWAY_POD, options, of=GATEWAY, data=_pods(options)),
        document("Gateway", GATEWAY_API, GATEWAY, options, spec=spec),
        *(document(kind, GATEWAY_API, EDGE, options, spec=route) for kind in sorted(kinds)),
        document("DestinationRule", NETWORKING, EDGE, options, spec=plain),
        *([document("AuthorizationPolicy", SECURITY, GATEWAY, options, spec=_ANYBODY)] if switches.encrypted else []),
        network_policy("gateway", options, _policy(port), of=GATEWAY),
    ]


def _listener(options: ClusterOptions) -> Document:
    shared = {"allowedRoutes": {"namespaces": {"from": "Same"}}}
    if not options.host:
        return {"name": "http", "port": PORT, "protocol": "HTTP", **shared}
    tls = {"mode": "Terminate", "certificateRefs": [{"name": CERTIFICATE}]}
    return {"name": "https", "port": TLS_PORT, "protocol": "HTTPS", "hostname": options.host, "tls": tls, **shared}


def _ingress(topology: Topology, port: int, options: ClusterOptions) -> Document:
    if topology.speaks_grpc_only:
        raise SwitchError(
            f"host={options.host} with mesh=none: the clients of {topology.name} speak gRPC, which an Ingress does not "
            "support. Give mesh=istio, or leave host out and route your own gateway to the Service edge."
        )
    to_edge = {"service": {"name": EDGE, "port": {"number": port}}}
    paths = [{"path": "/", "pathType": "Prefix", "backend": to_edge}]
    spec = {
        "tls": [{"hosts": [options.host], "secretName": CERTIFICATE}],
        "rules": [{"host": options.host, "http": {"paths": paths}}],
    }
    return document("Ingress", "networking.k8s.io/v1", EDGE, options, spec=spec)


# The namespace refuses callers without a link, even at the gateway's pods, whose clients have no certificates.
_ANYBODY: Document = {
    "targetRefs": [{"group": GATEWAY_API.partition("/")[0], "kind": "Gateway", "name": GATEWAY}],
    "action": "ALLOW",
    "rules": [{}],
}


def _pods(options: ClusterOptions) -> dict[str, str]:
    """Settings for the resources that Istio makes from the Gateway: the namespace's pod security standard, and a second
    pod."""
    scaled = autoscaler(GATEWAY_POD, options, PROXY)["spec"]
    standard = {"template": {"spec": {"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}}}
    specs = {"deployment": standard, "horizontalPodAutoscaler": scaled, "podDisruptionBudget": {"maxUnavailable": 1}}
    return {kind: json.dumps({"spec": spec}) for kind, spec in specs.items()}


def _policy(edge_port: int) -> Document:
    edge = {"podSelector": {"matchLabels": {SERVICE: EDGE}}}
    return {
        "podSelector": {"matchLabels": {"gateway.networking.k8s.io/gateway-name": GATEWAY}},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"ports": [{"protocol": "TCP", "port": port} for port in (PORT, TLS_PORT)]}],
        "egress": [{"to": [edge], "ports": [{"protocol": "TCP", "port": edge_port}]}],
    }
