"""Resources that say who may call whom, and how callers prove who they are."""

from __future__ import annotations

from collections.abc import Sequence

from mesh.istio.resource import ROOT_NAMESPACE, SECURITY, Resource
from mesh.sidecars.workloads import Workload, identity, link_of
from mesh.switches import Switches
from mesh.topology import Topology


def access_resources(workloads: Sequence[Workload], topology: Topology, switches: Switches) -> list[Resource]:
    """With mTLS, each link of the topology is a permission, and what no link permits is refused.

    Without mTLS, nobody can prove who calls, so everybody may.

    Args:
        workloads: Every workload of the mesh.
        topology: The topology, for the names of its links.
        switches: For mTLS.
    """
    mode = "STRICT" if switches.encrypted else "DISABLE"
    authentication = Resource(
        "PeerAuthentication", "default", f"mtls={switches.mtls}", {"mtls": {"mode": mode}}, SECURITY, ROOT_NAMESPACE
    )
    if not switches.encrypted:
        return [authentication]
    nobody = Resource("AuthorizationPolicy", "nobody-else", "mtls=on", {}, SECURITY, ROOT_NAMESPACE)
    return [
        authentication,
        nobody,
        *(
            _permission(workload.service, outbound.callee, outbound.port, topology)
            for workload in workloads
            if workload.name == workload.service  # a canary's links are those of its service
            for outbound in workload.outbound
        ),
    ]


def _permission(caller: str, callee: str, port: int, topology: Topology) -> Resource:
    spec = {
        "selector": {"matchLabels": {"app": callee}},
        "action": "ALLOW",
        "rules": [
            {
                "from": [{"source": {"principals": [identity(caller).removeprefix("spiffe://")]}}],
                "to": [{"operation": {"ports": [str(port)]}}],
            }
        ],
    }
    made_for = f"link {link_of(caller, callee, topology)}"
    return Resource("AuthorizationPolicy", f"{caller}-to-{callee}", made_for, spec, SECURITY)
