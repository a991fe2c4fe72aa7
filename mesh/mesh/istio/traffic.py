"""Traffic resources: time limits and retries of calls, the canary's share, faults, connections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mesh.description.switches import Switches
from mesh.description.topology import Protocol, Topology
from mesh.envoy_config import EDGE_FILE, base_config, holding_streams
from mesh.envoy_replies import RETRIED_UNSENT, UNSENT
from mesh.istio.resource import NATIVE, Naming, Resource
from mesh.istio.services import IDLE_TIMEOUT, SPOKEN
from mesh.sidecars.envoy import (
    EJECTED_FOR,
    FAILURES_IN_A_ROW,
    LOOKED_AT_EVERY,
    MAX_EJECTED,
    REPEATED_WHEN,
    TIMEOUT,
    repeatable_paths,
)
from mesh.sidecars.workloads import Inbound, Workload, callers, lasting_paths, link_of, weights


def traffic_resources(
    workloads: Sequence[Workload], topology: Topology, switches: Switches, naming: Naming = NATIVE
) -> list[Resource]:
    """The traffic resources of each service."""
    services = {workload.service: workload for workload in workloads if workload.inbound}
    return [
        resource
        for service, workload in services.items()
        for resource in (
            _destination(service, workload, workloads, topology, switches, naming),
            _virtual_service(service, workload, workloads, topology, switches, naming),
        )
    ]


def _destination(
    service: str,
    workload: Workload,
    workloads: Sequence[Workload],
    topology: Topology,
    switches: Switches,
    naming: Naming,
) -> Resource:
    versions = sorted({other.version for other in workloads if other.service == service})
    refuses = topology.behind_edge.get(service) if switches.admission == "on" else None
    ports = [
        {
            "port": {"number": inbound.port},
            **_policy(
                inbound,
                switches,
                lasts=bool(lasting_paths(workloads, service, inbound.protocol)),
                refuses=inbound.protocol is refuses,
            ),
        }
        for inbound in workload.inbound
    ]
    spec = {
        "host": naming.host(service),
        "trafficPolicy": {"tls": {"mode": _tls_mode(switches)}, "portLevelSettings": ports},
        "subsets": [{"name": version, "labels": {"version": version}} for version in versions],
    }
    return naming.resource("DestinationRule", service, f"component {service}", spec)


def _tls_mode(switches: Switches) -> str:
    return "ISTIO_MUTUAL" if switches.encrypted else "DISABLE"


def _policy(inbound: Inbound, switches: Switches, *, lasts: bool, refuses: bool) -> dict[str, Any]:
    # A port's settings replace the service's settings; they do not add to them.
    over_http1 = SPOKEN[inbound.protocol] == "HTTP"
    by_http1, by_http2, _ = base_config(EDGE_FILE)["static_resources"]["clusters"]
    cluster = by_http1 if over_http1 else by_http2
    (most,) = (holding_streams(cluster) if lasts else cluster)["circuit_breakers"]["thresholds"]
    limits = {"http1MaxPendingRequests": most["max_pending_requests"], "http2MaxRequests": most["max_requests"]}
    # As in mesh=envoy, a healthy instance is not ejected for refusals.
    by_connection = {"splitExternalLocalOriginErrors": True, "consecutiveLocalOriginFailures": FAILURES_IN_A_ROW}
    return {
        "tls": {"mode": _tls_mode(switches)},
        # Round robin, as without Istio; Istio's default picks the better of two random instances.
        "loadBalancer": {"simple": "ROUND_ROBIN"},
        "connectionPool": {
            "tcp": {"maxConnections": most["max_connections"], "connectTimeout": cluster["connect_timeout"]},
            "http": {**limits, "idleTimeout": IDLE_TIMEOUT} if over_http1 else limits,
        },
        "outlierDetection": {
            "consecutiveGatewayErrors": 0 if refuses else FAILURES_IN_A_ROW,
            **(by_connection if refuses else {}),
            "consecutive5xxErrors": 0,
            "interval": LOOKED_AT_EVERY,
            "baseEjectionTime": EJECTED_FOR,
            "maxEjectionPercent": MAX_EJECTED,
        },
    }


def _virtual_service(
    service: str,
    workload: Workload,
    workloads: Sequence[Workload],
    topology: Topology,
    switches: Switches,
    naming: Naming,
) -> Resource:
    # A caller speaks one protocol to a service, and one port serves one protocol, so the caller's label gives the port.
    calls = [
        (caller, inbound) for inbound in workload.inbound for caller in callers(workloads, service, inbound.protocol)
    ]
    routes = [
        route for caller, inbound in calls for route in _routes(service, inbound, caller, workloads, switches, naming)
    ]
    made_for = f"link {' and '.join(link_of(caller, service, topology) for caller, _ in calls)}"
    return naming.resource("VirtualService", service, made_for, {"hosts": [naming.host(service)], "http": routes})


def _routes(
    service: str, inbound: Inbound, caller: str, workloads: Sequence[Workload], switches: Switches, naming: Naming
) -> list[dict[str, Any]]:
    split = weights(workloads, service, switches.canary)
    route = [
        {
            "destination": {"host": naming.host(service), "subset": version, "port": {"number": inbound.port}},
            **({"weight": weight} if len(split) > 1 else {}),
        }
        for version, weight in split.items()
    ]
    faults = _faults(service, inbound.protocol, switches)
    unlimited = {**({"fault": faults} if faults else {}), "route": route}
    common = {**unlimited, "timeout": TIMEOUT, "headers": {"response": {"remove": [UNSENT]}}}
    by_caller = {"sourceLabels": {"app": caller}}
    never = {"retries": {"attempts": 0}}
    unsent = {"attempts": 1, "retryOn": RETRIED_UNSENT["retry_on"]}
    once = {"name": f"{caller}-once", "match": [by_caller], **common, "retries": unsent}
    lasting = lasting_paths(workloads, service, inbound.protocol)
    paths = [{**by_caller, "uri": {"regex": path}} for path in lasting]
    # Istio refuses a timeout of 0; without a timeout, there is no limit.
    first = [{"name": f"{caller}-lasting", "match": paths, **unlimited, **never}] if paths else []
    repeatable = _repeatable(service, inbound.protocol)
    if not repeatable:
        return [*first, once]
    retries = {"attempts": 1, "retryOn": f"{REPEATED_WHEN[inbound.protocol]},{unsent['retryOn']}"}
    matches = [{**by_caller, **match} for match in repeatable]
    return [*first, {"name": f"{caller}-repeatable", "match": matches, **common, "retries": retries}, once]


def _repeatable(service: str, protocol: Protocol) -> list[dict[str, Any]]:
    """Matches for read-only calls. A GraphQL request does not show whether it is read-only."""
    if protocol is Protocol.REST:
        return [{"method": {"exact": "GET"}}]
    paths = repeatable_paths(service) if protocol is Protocol.GRPC else ()
    return [{"uri": {"exact": path}} for path in paths]


def _faults(service: str, protocol: Protocol, switches: Switches) -> dict[str, Any]:
    faults: dict[str, Any] = {}
    if service in switches.delay_ms:
        delay = f"{switches.delay_ms[service] / 1000:.6f}s"
        faults["delay"] = {"percentage": {"value": 100.0}, "fixedDelay": delay}
    if service in switches.abort_share:
        answer = {"grpcStatus": "UNAVAILABLE"} if protocol is Protocol.GRPC else {"httpStatus": 503}
        faults["abort"] = {"percentage": {"value": round(100 * switches.abort_share[service], 4)}, **answer}
    return faults
