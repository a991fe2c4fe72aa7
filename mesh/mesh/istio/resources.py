"""All of istiod's resources for a mesh, made from its workloads."""

from __future__ import annotations

from mesh.description.ports import Ports
from mesh.description.switches import Switches
from mesh.description.topology import Topology
from mesh.istio.access import access_resources
from mesh.istio.proxies import proxy_resources
from mesh.istio.resource import Resource
from mesh.istio.services import service_resources
from mesh.istio.traffic import traffic_resources
from mesh.paths import RunFolder
from mesh.sidecars.workloads import Workload


def resources(
    workloads: tuple[Workload, ...], topology: Topology, switches: Switches, ports: Ports, folder: RunFolder
) -> list[Resource]:
    """Istio's resources for a mesh."""
    return [
        *service_resources(workloads, ports, folder.sockets),
        *traffic_resources(workloads, topology, switches),
        *access_resources(workloads, topology, switches),
        *proxy_resources(workloads, ports),
    ]
