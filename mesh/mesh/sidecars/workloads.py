"""The workloads of a mesh: each component with its sidecar, its protocols, and its callees.

Static configuration and Istio's resources are both made from these workloads, so that they describe the same mesh.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mesh.description.places import Place
from mesh.description.ports import Ports, replica_name
from mesh.description.streams import LASTING
from mesh.description.topology import EDGE, NOTIFICATION, OUTSIDE, Protocol, Topology, metrics_port, port_name
from mesh.paths import RunFolder

TRUST_DOMAIN = "cluster.local"
NAMESPACE = "default"
DOMAIN = "mesh.local"
CANARY = "product-canary"
CANARY_OF = "product"
STABLE, CANARY_VERSION = "stable", "canary"


@dataclass(frozen=True)
class Inbound:
    """One protocol that a component serves through its sidecar.

    Attributes:
        port: TCP port of the sidecar, at the workload's address.
        socket: Where the component itself listens, for its sidecar only.
    """

    protocol: Protocol
    port: int
    socket: Path


@dataclass(frozen=True)
class Outbound:
    """One service that a component calls through its sidecar.

    Attributes:
        port: Port of the service, which all its workloads share.
        socket: Where the sidecar listens, for its component only.
    """

    callee: str
    protocol: Protocol
    port: int
    socket: Path

    @property
    def authority(self) -> str:
        """The host of the requests: `product.mesh.local:18020`."""
        return f"{host(self.callee)}:{self.port}"


@dataclass(frozen=True)
class Workload:
    """A component and its sidecar.

    Attributes:
        component: Name of the component, such as `product` or `product-canary`.
        replica: Number of the component's process, from 1.
        service: The service that the component is an instance of: `product` for both examples.
        version: `stable` or `canary`.
        address: Loopback address of the sidecar.
        inbound: The protocols that it serves; empty for the edge, whose clients are outside of the mesh.
        admin: Unix domain socket of the sidecar's admin page.
        metrics: Where the sidecar exposes its metrics with `metrics=on`.
    """

    component: str
    replica: int
    service: str
    version: str
    address: str
    inbound: tuple[Inbound, ...]
    outbound: tuple[Outbound, ...]
    admin: Path
    metrics: Place

    @property
    def name(self) -> str:
        """Name of the component's process: `product`, `product-2`, `product-canary`."""
        return replica_name(self.component, self.replica)

    @property
    def sidecar(self) -> str:
        """Name of the sidecar's process."""
        return f"{self.name}-sidecar"

    @property
    def sidecar_component(self) -> str:
        """The name of all replicas' sidecars in results."""
        return f"{self.component}-sidecar"

    @property
    def identity(self) -> str:
        """The identity in the workload's certificate, the same for all instances of a service."""
        return identity(self.service)

    def inbound_of(self, protocol: Protocol) -> Inbound:
        """Where the component serves a protocol."""
        return next(inbound for inbound in self.inbound if inbound.protocol is protocol)


def host(service: str) -> str:
    """The host name of a service in the mesh."""
    return f"{service}.{DOMAIN}"


def identity(service: str) -> str:
    """The SPIFFE ID of a service."""
    return f"spiffe://{TRUST_DOMAIN}/ns/{NAMESPACE}/sa/{service}"


def workloads(topology: Topology, ports: Ports, folder: RunFolder, *, canary: bool = False) -> tuple[Workload, ...]:
    """Every workload of a topology: the edge, each replica of its components, and the canary if there is one."""
    components = [EDGE, *topology.components, *([CANARY] if canary else [])]
    return tuple(
        _workload(component, replica, topology, ports, folder)
        for component in components
        for replica in ports.replicas_of(component)
    )


def callers(all_workloads: Sequence[Workload], service: str, protocol: Protocol) -> list[str]:
    """The services that may call a service over a protocol, by the topology's links, in a fixed order."""
    calling = {
        workload.service
        for workload in all_workloads
        for outbound in workload.outbound
        if (outbound.callee, outbound.protocol) == (service, protocol)
    }
    return sorted(calling)


def weights(all_workloads: Sequence[Workload], service: str, canary: int) -> dict[str, int]:
    """The percentage of a service's calls that goes to each of its versions, without versions that get no calls.

    The percentage of the canary counts only if the service has one.
    """
    versions = {workload.version for workload in all_workloads if workload.service == service}
    share = canary if CANARY_VERSION in versions else 0
    return {version: weight for version, weight in ((STABLE, 100 - share), (CANARY_VERSION, share)) if weight}


def lasting_paths(all_workloads: Sequence[Workload], service: str, protocol: Protocol) -> Sequence[str]:
    """The paths of a service's long-lived answers over a protocol, as regular expressions.

    A mesh without notifications has no such paths.
    """
    has_updates = any(workload.service == NOTIFICATION for workload in all_workloads)
    return LASTING.get(service, {}).get(protocol, ()) if has_updates else ()


def link_of(caller: str, callee: str, topology: Topology) -> str:
    """The name of a link in a topology's file: `client -> product` for calls that enter through the edge."""
    if caller != EDGE:
        return f"{caller} -> {callee}"
    for outside in OUTSIDE:
        if callee in topology.links.get(outside, {}):
            return f"{outside} -> {callee}"
    channels = [channel for channel, entry in topology.entry.items() if entry == callee]
    return f"{', '.join(channels)} -> {callee}"


def _workload(component: str, replica: int, topology: Topology, ports: Ports, folder: RunFolder) -> Workload:
    service = CANARY_OF if component == CANARY else component
    calls = topology.behind_edge if component == EDGE else topology.links.get(service, {})
    name, sockets = replica_name(component, replica), folder.sockets
    address = ports.sidecar_address(component, replica)
    return Workload(
        component=component,
        replica=replica,
        service=service,
        version=CANARY_VERSION if component == CANARY else STABLE,
        address=address,
        inbound=tuple(
            Inbound(protocol, ports[port_name(service, protocol)], sockets / f"{name}-{protocol}.sock")
            for protocol in ([] if component == EDGE else topology.protocols_of(service))
        ),
        outbound=tuple(
            Outbound(callee, protocol, ports[port_name(callee, protocol)], sockets / f"{name}-to-{callee}.sock")
            for callee, protocol in calls.items()
        ),
        admin=folder.admin_socket(f"{name}-sidecar"),
        metrics=Place(address, ports[metrics_port(component)]),
    )
