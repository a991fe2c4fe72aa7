"""Resources for the services, the addresses of their workloads, and the listeners of their sidecars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mesh.description.ports import HOST, Ports
from mesh.description.topology import Protocol
from mesh.istio.resource import Resource
from mesh.sidecars.workloads import Inbound, Workload, host

JAEGER = "jaeger"
JAEGER_HOST = host(JAEGER)
JAEGER_PORT = "jaeger-otlp-grpc"
SPOKEN: Mapping[Protocol, str] = {**dict.fromkeys(Protocol, "HTTP"), Protocol.GRPC: "GRPC"}
"""Istio's name for the transport of each protocol; ports without such a name are forwarded as TCP."""
IDLE_TIMEOUT = "30s"
"""Gateways and services keep idle connections longer, so a request never gets a connection that is being closed."""


def labels(workload: Workload) -> dict[str, str]:
    """The labels by which resources select a workload."""
    return {"app": workload.service, "version": workload.version, "workload": workload.name}


def selector(workload: Workload) -> dict[str, Any]:
    """Selects one workload."""
    return {"labels": {"workload": workload.name}}


def service_resources(workloads: Sequence[Workload], ports: Ports, sockets: Path) -> list[Resource]:
    """The services of a mesh, its workloads and their sidecars."""
    services = {workload.service: workload for workload in workloads if workload.inbound}
    return [
        *(_service(service, workload) for service, workload in services.items()),
        *(_workload(workload) for workload in workloads),
        *(_sidecar(workload, sockets) for workload in workloads),
        _jaeger(ports),
    ]


def _service(service: str, workload: Workload) -> Resource:
    spec = {
        "hosts": [host(service)],
        "location": "MESH_INTERNAL",
        "resolution": "STATIC",
        "ports": [_port(inbound) for inbound in workload.inbound],
        "workloadSelector": {"labels": {"app": service}},
    }
    return Resource("ServiceEntry", service, f"component {service}", spec)


def _workload(workload: Workload) -> Resource:
    spec = {"address": workload.address, "labels": labels(workload), "serviceAccount": workload.service}
    return Resource("WorkloadEntry", workload.name, f"component {workload.name}", spec)


def _sidecar(workload: Workload, sockets: Path) -> Resource:
    pool = {"connectionPool": {"http": {"idleTimeout": IDLE_TIMEOUT}}}
    ingress = [
        {
            "port": _port(inbound),
            "bind": workload.address,
            "captureMode": "NONE",
            "defaultEndpoint": f"unix://{inbound.socket}",
            **(pool if SPOKEN[inbound.protocol] == "HTTP" else {}),
        }
        for inbound in workload.inbound
    ]
    egress = [
        _egress(outbound.socket, outbound.callee, SPOKEN[outbound.protocol], host(outbound.callee))
        for outbound in workload.outbound
    ]
    # Istio gives a sidecar only the clusters of services in its egress; without this entry, its spans are lost.
    egress.append(_egress(sockets / f"{workload.name}-to-jaeger.sock", "jaeger", "GRPC", JAEGER_HOST))
    spec = {"workloadSelector": selector(workload), **({"ingress": ingress} if ingress else {}), "egress": egress}
    return Resource("Sidecar", workload.name, f"component {workload.name}", spec)


def _egress(socket: Path, name: str, spoken: str, reached: str) -> dict[str, Any]:
    port = {"number": 0, "protocol": spoken, "name": f"{spoken.lower()}-{name}"}
    return {"port": port, "bind": f"unix://{socket}", "captureMode": "NONE", "hosts": [f"./{reached}"]}


def _port(inbound: Inbound) -> dict[str, Any]:
    spoken = SPOKEN[inbound.protocol]
    return {"number": inbound.port, "protocol": spoken, "name": f"{spoken.lower()}-{inbound.protocol}"}


def _jaeger(ports: Ports) -> Resource:
    spec = {
        "hosts": [JAEGER_HOST],
        "location": "MESH_EXTERNAL",
        "resolution": "STATIC",
        "ports": [{"number": ports[JAEGER_PORT], "protocol": "GRPC", "name": "grpc-otlp"}],
        "endpoints": [{"address": HOST}],
    }
    return Resource("ServiceEntry", "jaeger", "component jaeger", spec)
