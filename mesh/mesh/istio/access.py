"""Authorization resources: which component may call which, and how callers authenticate."""

from __future__ import annotations

from collections.abc import Sequence

from mesh.description.switches import Switches
from mesh.description.topology import Topology
from mesh.istio.resource import NATIVE, SECURITY, Naming, Resource
from mesh.sidecars.workloads import Workload, link_of


def access_resources(
    workloads: Sequence[Workload], topology: Topology, switches: Switches, naming: Naming = NATIVE
) -> list[Resource]:
    """The authorization resources of a mesh: with mTLS, they allow the topology's links and refuse all other calls.

    Without mTLS, callers cannot authenticate, so all calls are allowed.
    """
    mode = "STRICT" if switches.encrypted else "DISABLE"
    authentication = naming.mesh_resource(
        "PeerAuthentication", "default", f"mtls={switches.mtls}", {"mtls": {"mode": mode}}, SECURITY
    )
    if not switches.encrypted:
        return [authentication]
    nobody = naming.mesh_resource("AuthorizationPolicy", "nobody-else", "mtls=on", {}, SECURITY)
    return [
        authentication,
        nobody,
        *(
            _permission(workload.service, outbound.callee, outbound.port, topology, naming)
            for workload in workloads
            if workload.name == workload.service  # a canary has the same links as its service
            for outbound in workload.outbound
        ),
    ]


def _permission(caller: str, callee: str, port: int, topology: Topology, naming: Naming) -> Resource:
    source, operation = {"principals": [naming.principal(caller)]}, {"ports": [str(port)]}
    rule = {"from": [{"source": source}], "to": [{"operation": operation}]}
    spec = {"selector": {"matchLabels": {"app": callee}}, "action": "ALLOW", "rules": [rule]}
    made_for = f"link {link_of(caller, callee, topology)}"
    return naming.resource("AuthorizationPolicy", f"{caller}-to-{callee}", made_for, spec, SECURITY)
