"""How clients outside of the cluster reach the edge of a mesh: by the Gateway API."""

from __future__ import annotations

from mesh.istio.resource import NETWORKING, SECURITY
from mesh.kubernetes.options import ClusterOptions
from mesh.kubernetes.places import ClusterPlaces
from mesh.kubernetes.pods import SERVICE, Document, document
from mesh.switches import Switches
from mesh.topology import EDGE, Topology

GATEWAY_API = "gateway.networking.k8s.io/v1"
GATEWAY = "shop"
PORT = 80


def ingress(topology: Topology, switches: Switches, places: ClusterPlaces, options: ClusterOptions) -> list[Document]:
    """A gateway of Istio's, and the routes from it to the edge for what clients of the topology send.

    Args:
        topology: For what clients send.
        switches: For mTLS.
        places: The ports.
        options: For namespace and labels.
    """
    port = places.ports[EDGE]
    listener = {"name": "http", "port": PORT, "protocol": "HTTP", "allowedRoutes": {"namespaces": {"from": "Same"}}}
    kinds = {"GRPCRoute" if topology.client_speaks(channel) == "grpc" else "HTTPRoute" for channel in topology.entry}
    route = {"parentRefs": [{"name": GATEWAY}], "rules": [{"backendRefs": [{"name": EDGE, "port": port}]}]}
    # The edge's port is no part of the mesh: its clients have no certificates.
    plain = {"host": EDGE, "trafficPolicy": {"tls": {"mode": "DISABLE"}}}
    spec = {"gatewayClassName": "istio", "listeners": [listener]}
    return [
        document("Gateway", GATEWAY_API, GATEWAY, options, spec=spec),
        *(document(kind, GATEWAY_API, EDGE, options, spec=route) for kind in sorted(kinds)),
        document("DestinationRule", NETWORKING, EDGE, options, spec=plain),
        *([document("AuthorizationPolicy", SECURITY, GATEWAY, options, spec=_ANYBODY)] if switches.encrypted else []),
        document("NetworkPolicy", "networking.k8s.io/v1", "gateway", options, of=GATEWAY, spec=_policy(port)),
    ]


# The namespace refuses whom no link permits, at the gateway's pods too; and the gateway's clients have no certificates.
_ANYBODY: Document = {
    "targetRefs": [{"group": GATEWAY_API.partition("/")[0], "kind": "Gateway", "name": GATEWAY}],
    "action": "ALLOW",
    "rules": [{}],
}


def _policy(edge_port: int) -> Document:
    edge = {"podSelector": {"matchLabels": {SERVICE: EDGE}}}
    return {
        "podSelector": {"matchLabels": {"gateway.networking.k8s.io/gateway-name": GATEWAY}},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"ports": [{"protocol": "TCP", "port": PORT}]}],
        "egress": [{"to": [edge], "ports": [{"protocol": "TCP", "port": edge_port}]}],
    }
