"""Network policies, disruption budgets and autoscalers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mesh.components.jaeger import JAEGER
from mesh.components.postgres import POSTGRES
from mesh.description.switches import Switches
from mesh.description.topology import EDGE, Topology, port_name
from mesh.kubernetes.manifests.deployment import SERVICE, Document, document, network_policy, select_pods
from mesh.kubernetes.manifests.monitoring import monitoring_policy
from mesh.kubernetes.manifests.stores import JOB
from mesh.kubernetes.options import ClusterOptions
from mesh.kubernetes.places import OTLP

LOAD = "load"
"""Name of the load generators' pods."""
ISTIOD_PORT = 15012
BUSY = "700m"
"""CPU usage per pod above which a pod is added: a Python process uses at most one core."""
MAX_PODS = 8


def links(topology: Topology, switches: Switches) -> dict[str, dict[str, set[str]]]:
    """The callees of each component, with the names of the ports, from the topology's links and the supporting
    components."""
    called: dict[str, dict[str, set[str]]] = {}

    def add(caller: str, callee: str, port: str) -> None:
        called.setdefault(caller, {}).setdefault(callee, set()).add(port)

    for caller in topology.components:
        for callee, protocol in topology.links.get(caller, {}).items():
            add(caller, callee, port_name(callee, protocol))
        add(caller, JAEGER, "jaeger-otlp-grpc")
    entrance = LOAD if switches.edge == "none" else EDGE
    for callee, protocol in topology.behind_edge.items():
        add(entrance, callee, port_name(callee, protocol))
    if entrance == EDGE:
        add(LOAD, EDGE, EDGE)
        for port in ("jaeger-otlp-grpc", "jaeger-otlp-http"):
            add(EDGE, JAEGER, port)
    add(LOAD, JAEGER, "jaeger-otlp-grpc")
    return called


def network_policies(topology: Topology, switches: Switches, options: ClusterOptions) -> list[Document]:
    """Denies all traffic except for the topology's links and the supporting components."""
    called = links(topology, switches)
    traced: list[Document] = []
    if options.collector:
        called = {caller: {name: to for name, to in of.items() if name != JAEGER} for caller, of in called.items()}
        traced = [_to_collector(options)]
    measured = [*topology.components, *([EDGE] if switches.has_edge else [])] if switches.metrics == "on" else []
    names = sorted({*called, *(callee for callees in called.values() for callee in callees)})
    everybody: Document = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    return [
        network_policy("nobody", options, everybody, of="hopwise"),
        network_policy("names", options, _names(switches), of="hopwise"),
        *traced,
        *([monitoring_policy(measured, options)] if measured else []),
        *(network_policy(name, options, _policy(name, called, options)) for name in names),
    ]


def _to_collector(options: ClusterOptions) -> Document:
    ports = [{"protocol": "TCP", "port": port} for port in sorted(OTLP.values())]
    spec = {"podSelector": {}, "policyTypes": ["Egress"], "egress": [{"ports": ports}]}
    return network_policy("traces", options, spec, of="hopwise")


def database_policies(topology: Topology, options: ClusterOptions) -> list[Document]:
    """Lets the services and the job connect to the bench's database, which may open no connections."""
    spec = {
        "podSelector": {"matchLabels": {SERVICE: POSTGRES}},
        "policyTypes": ["Ingress"],
        "ingress": [_rule("from", caller, [POSTGRES], options) for caller in [*topology.services, JOB]],
    }
    to_database = _to_database(topology, _rule("to", POSTGRES, [POSTGRES], options), options)
    return [*to_database, network_policy(POSTGRES, options, spec)]


def managed_database_policies(topology: Topology, options: ClusterOptions) -> list[Document]:
    """Lets the services and the job connect to a database outside of the cluster, at any address."""
    return _to_database(topology, {"ports": [{"protocol": "TCP", "port": options.managed_port}]}, options)


def _to_database(topology: Topology, rule: Document, options: ClusterOptions) -> list[Document]:
    policies = []
    for caller in [*topology.services, JOB]:
        spec = {"podSelector": {"matchLabels": {SERVICE: caller}}, "policyTypes": ["Egress"], "egress": [rule]}
        policies.append(network_policy(f"{caller}-to-database", options, spec, of=caller))
    return policies


def _namespace(name: str) -> Document:
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}


NAME_SERVERS = (
    (_namespace("kube-system"), 53),
    ({"ipBlock": {"cidr": "169.254.20.10/32"}}, 53),
    (_namespace("openshift-dns"), 5353),
)
"""A cluster's name servers: CoreDNS, NodeLocal DNSCache at its usual address, and OpenShift's DNS."""


def _names(switches: Switches) -> Document:
    """Lets every pod look up names, and sidecars call istiod."""
    egress: list[Document] = [
        {"to": [place], "ports": [{"protocol": protocol, "port": port} for protocol in ("UDP", "TCP")]}
        for place, port in NAME_SERVERS
    ]
    if switches.meshed:
        egress.append({"to": [_namespace("istio-system")], "ports": [{"protocol": "TCP", "port": ISTIOD_PORT}]})
    return {"podSelector": {}, "policyTypes": ["Egress"], "egress": egress}


def _policy(name: str, called: Mapping[str, Mapping[str, Iterable[str]]], options: ClusterOptions) -> Document:
    egress = [_rule("to", callee, ports, options) for callee, ports in called.get(name, {}).items()]
    ingress = [
        _rule("from", caller, callees[name], options) for caller, callees in sorted(called.items()) if name in callees
    ]
    if name == EDGE:
        # Open to all clients; operators can restrict access in front of it.
        ingress = [{"ports": _ports([EDGE], options)}]
    return {
        "podSelector": {"matchLabels": {SERVICE: name}},
        "policyTypes": ["Ingress", "Egress"],
        # A cluster drops empty lists, so each `kubectl apply` would treat an empty list as a change.
        **({"ingress": ingress} if ingress else {}),
        **({"egress": egress} if egress else {}),
    }


def _rule(direction: str, peer: str, ports: Iterable[str], options: ClusterOptions) -> Document:
    return {direction: [{"podSelector": {"matchLabels": {SERVICE: peer}}}], "ports": _ports(ports, options)}


def _ports(names: Iterable[str], options: ClusterOptions) -> list[Document]:
    return [{"protocol": "TCP", "port": options.places.ports[name]} for name in sorted(names)]


def disruption_budget(name: str, options: ClusterOptions) -> Document:
    """Allows voluntary disruption of at most one pod of a component at a time."""
    spec = {"maxUnavailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow", "selector": select_pods(name)}
    return document("PodDisruptionBudget", "policy/v1", name, options, spec=spec)


def autoscaler(name: str, options: ClusterOptions, container: str = "") -> Document:
    """Adds pods to a busy component. There are at least two pods, on different nodes if possible.

    The CPU of `container` counts; by default, the container has the Deployment's name.
    """
    target = {"type": "AverageValue", "averageValue": BUSY}
    # Only one container's usage counts: a sidecar's CPU time would add pods before the component needs them.
    measured = {"name": "cpu", "container": container or name, "target": target}
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
        "minReplicas": 2,
        "maxReplicas": MAX_PODS,
        "metrics": [{"type": "ContainerResource", "containerResource": measured}],
    }
    return document("HorizontalPodAutoscaler", "autoscaling/v2", name, options, spec=spec)
