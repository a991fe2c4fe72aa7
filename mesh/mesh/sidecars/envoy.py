"""Sidecars for mesh=envoy: Envoy's configuration for each workload, and the processes that run it."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from google.protobuf.descriptor_pb2 import FileDescriptorSet, MethodOptions

from mesh.description.places import Place
from mesh.description.ports import Ports
from mesh.description.switches import Switches
from mesh.description.topology import EDGE, GATEWAYS, Protocol
from mesh.envoy_config import (
    ALONE,
    DESCRIPTOR,
    EDGE_FILE,
    ON_ANOTHER_INSTANCE,
    OTLP_CLUSTER,
    TYPES,
    WEBSOCKET,
    base_config,
    command,
    endpoints,
    holding_streams,
    pipe_address,
    show_metrics,
    tcp_address,
)
from mesh.envoy_replies import RETRIED_UNSENT, UNSENT, sidecar_replies
from mesh.paths import RunFolder
from mesh.sidecars.certificates import Certificate
from mesh.sidecars.workloads import Inbound, Outbound, Workload, callers, identity, lasting_paths, weights
from mesh.supervisor.processes import Component
from mesh.supervisor.readiness import http_ok

BASE_FILE = Path(__file__).parent / "templates" / "envoy.yaml"
"""The part of the configuration that does not depend on the workload."""
TIMEOUT = "5s"
"""The same limit as the edge's; the caller's remaining time is shorter, and applies first."""
REPEATED_WHEN = {
    Protocol.GRPC: "connect-failure,refused-stream,reset-before-request,unavailable",
    Protocol.REST: "connect-failure,refused-stream,reset-before-request,gateway-error",
}
FAILURES_IN_A_ROW, LOOKED_AT_EVERY, EJECTED_FOR = 5, "1s", "5s"
"""Outlier detection counts failed connections, and the answers of a proxy or an unavailable service: 502, 503, 504."""
MAX_EJECTED = 50
"""Percentage of a service's instances that may be ejected. A service's only instance is never ejected. A service that
reports another service as unavailable would otherwise become unavailable itself, even for calls that do not need the
other service."""
OUTLIER_DETECTION = {
    "consecutive_gateway_failure": FAILURES_IN_A_ROW,
    "enforcing_consecutive_gateway_failure": 100,
    "consecutive_5xx": 0,
    "enforcing_consecutive_5xx": 0,
    "enforcing_success_rate": 0,
    "interval": LOOKED_AT_EVERY,
    "base_ejection_time": EJECTED_FOR,
    "max_ejection_percent": MAX_EJECTED,
}
BY_CONNECTION = {
    **OUTLIER_DETECTION,
    "split_external_local_origin_errors": True,
    "consecutive_local_origin_failure": FAILURES_IN_A_ROW,
    "enforcing_local_origin_success_rate": 0,
    "enforcing_consecutive_gateway_failure": 0,
}
"""Outlier detection that counts failed connections and missing answers, but no answers: with admission=on, a healthy
instance refuses clients' requests with 503."""


@dataclass(frozen=True)
class StaticMesh:
    """The inputs of the sidecars' configuration.

    Attributes:
        switches: The switches for mTLS, the canary's share, delays and aborts.
        certificates: Certificate of each workload, by its name; empty without mTLS.
    """

    workloads: tuple[Workload, ...]
    ports: Ports
    switches: Switches
    certificates: Mapping[str, Certificate]

    def components(self, folder: RunFolder) -> list[Component]:
        """What to run: Envoy for each workload; writes the configurations into the run's folder.

        Raises:
            NotInstalledError: There is no Envoy program.
        """
        return [self._component(workload, folder) for workload in self.workloads]

    def render(self, workload: Workload) -> dict[str, Any]:
        """Envoy's whole configuration for the sidecar of one workload, as plain data."""
        config = base_config(BASE_FILE)
        config["admin"]["address"] = pipe_address(workload.admin)
        resources = config["static_resources"]
        (listener,) = resources["listeners"]
        resources["listeners"] = [
            *(self._inbound(copy.deepcopy(listener), workload, inbound) for inbound in workload.inbound),
            *(self._outbound(copy.deepcopy(listener), workload, outbound) for outbound in workload.outbound),
        ]
        over_http1, over_http2, collector = base_config(EDGE_FILE)["static_resources"]["clusters"]
        base = {**dict.fromkeys(Protocol, over_http1), Protocol.GRPC: over_http2}
        resources["clusters"] = [
            *(
                {
                    **self._base(base, workload.service, inbound.protocol),
                    **endpoints(_inbound_cluster(inbound), [pipe_address(inbound.socket)]),
                }
                for inbound in workload.inbound
            ),
            *(
                {**self._base(base, outbound.callee, outbound.protocol), **self._upstream(workload, outbound, version)}
                for outbound in workload.outbound
                for version in weights(self.workloads, outbound.callee, self.switches.canary)
            ),
            {**collector, **endpoints(OTLP_CLUSTER, [tcp_address(self.ports.listens("jaeger-otlp-grpc"))])},
        ]
        if self.switches.metrics == "on":
            show_metrics(config, workload.metrics)
        return config

    def _base(self, base: Mapping[Protocol, Any], callee: str, protocol: Protocol) -> Mapping[str, Any]:
        lasts = lasting_paths(self.workloads, callee, protocol)
        return holding_streams(base[protocol]) if lasts else base[protocol]

    def _component(self, workload: Workload, folder: RunFolder) -> Component:
        file = folder.config / f"{workload.sidecar}.yaml"
        file.write_text(yaml.dump(self.render(workload), Dumper=yaml.CSafeDumper, sort_keys=False))
        return Component(
            workload.sidecar,
            argv=lambda: command(file, ALONE),
            ready=http_ok(workload.admin, "/ready"),
            stop_rank=3,
            replica_of=workload.sidecar_component if workload.replica > 1 else "",
        )

    def _inbound(self, listener: dict[str, Any], workload: Workload, inbound: Inbound) -> dict[str, Any]:
        name = _inbound_cluster(inbound)
        manager = _rename(listener, name, workload, "inbound", inbound.protocol)
        listener["address"] = tcp_address(Place(workload.address, inbound.port))
        rbac, _, router = manager["http_filters"]
        manager["http_filters"] = [router]
        # The caller's sidecar applies the time limit, and further calls get the caller's remaining time, so there is no
        # limit here.
        (virtual_host,) = manager["route_config"]["virtual_hosts"]
        virtual_host["routes"] = [{"match": {"prefix": "/"}, "route": {"cluster": name, "timeout": "0s"}}]
        if workload.service in GATEWAYS:
            manager["upgrade_configs"] = _upgrades(inbound.protocol)
        if self.switches.encrypted:
            permitted = [identity(caller) for caller in callers(self.workloads, workload.service, inbound.protocol)]
            principals = [{"authenticated": {"principal_name": {"exact": caller}}} for caller in permitted]
            policy = {"permissions": [{"any": True}], "principals": principals}
            rbac["typed_config"]["rules"]["policies"]["callers"] = policy
            manager["http_filters"] = [rbac, router]
            # Envoy removes a received x-forwarded-client-cert, and sets it from the caller's certificate.
            manager["forward_client_cert_details"] = "SANITIZE_SET"
            manager["set_current_client_cert_details"] = {"uri": True}
            context = {**self._tls(workload), "require_client_certificate": True}
            listener["filter_chains"][0]["transport_socket"] = _tls_socket("DownstreamTlsContext", context)
        return listener

    def _outbound(self, listener: dict[str, Any], workload: Workload, outbound: Outbound) -> dict[str, Any]:
        callee = outbound.callee
        manager = _rename(listener, f"outbound|{callee}", workload, "outbound", outbound.protocol)
        listener["address"] = pipe_address(outbound.socket, mode=0o600)
        del listener["enable_reuse_port"]
        _, fault, router = manager["http_filters"]
        faults = self._faults(callee)
        manager["http_filters"] = [fault, router] if faults else [router]
        fault["typed_config"].update(faults)
        clusters = [
            {"name": _outbound_cluster(outbound, version), "weight": weight}
            for version, weight in weights(self.workloads, callee, self.switches.canary).items()
        ]
        where = {"weighted_clusters": {"clusters": clusters}} if len(clusters) > 1 else {"cluster": clusters[0]["name"]}
        unsent = {**RETRIED_UNSENT, "num_retries": 1, **ON_ANOTHER_INSTANCE}
        action = {**where, "timeout": TIMEOUT, "retry_policy": unsent}
        when = f"{REPEATED_WHEN.get(outbound.protocol)},{RETRIED_UNSENT['retry_on']}"
        again = {**action, "retry_policy": {**unsent, "retry_on": when}}
        # The edge ends a long-lived answer when it falls silent.
        lasting = {**where, "timeout": "0s"}
        if callee in GATEWAYS:
            manager["upgrade_configs"] = _upgrades(outbound.protocol)
        (virtual_host,) = manager["route_config"]["virtual_hosts"]
        virtual_host["response_headers_to_remove"] = [UNSENT]
        virtual_host["routes"] = [
            *(
                {"match": {"safe_regex": {"regex": path}}, "route": lasting}
                for path in lasting_paths(self.workloads, callee, outbound.protocol)
            ),
            *({"match": match, "route": again} for match in _repeatable(outbound)),
            {"match": {"prefix": "/"}, "route": action},
        ]
        return listener

    def _upstream(self, workload: Workload, outbound: Outbound, version: str) -> dict[str, Any]:
        addresses = [
            tcp_address(Place(other.address, other.inbound_of(outbound.protocol).port))
            for other in self.workloads
            if (other.service, other.version) == (outbound.callee, version)
        ]
        refuses = workload.service == EDGE and self.switches.admission == "on"
        cluster = {
            **endpoints(_outbound_cluster(outbound, version), addresses),
            "outlier_detection": BY_CONNECTION if refuses else OUTLIER_DETECTION,
            # Calls never go to an ejected instance, even if too few instances are left.
            "common_lb_config": {"healthy_panic_threshold": {"value": 0}},
        }
        if self.switches.encrypted:
            context = {**self._tls(workload, expects=identity(outbound.callee)), "sni": outbound.authority}
            cluster["transport_socket"] = _tls_socket("UpstreamTlsContext", context)
        return cluster

    def _faults(self, callee: str) -> dict[str, Any]:
        faults: dict[str, Any] = {}
        if callee in self.switches.delay_ms:
            always = {"numerator": 100, "denominator": "HUNDRED"}
            faults["delay"] = {"fixed_delay": f"{self.switches.delay_ms[callee] / 1000:.6f}s", "percentage": always}
        if callee in self.switches.abort_share:
            share = {"numerator": round(self.switches.abort_share[callee] * 1e6), "denominator": "MILLION"}
            faults["abort"] = {"http_status": 503, "percentage": share}
        return faults

    def _tls(self, workload: Workload, expects: str | None = None) -> dict[str, Any]:
        own = self.certificates[workload.name]
        validation: dict[str, Any] = {"trusted_ca": {"filename": str(own.trusted)}}
        if expects is not None:
            validation["match_typed_subject_alt_names"] = [{"san_type": "URI", "matcher": {"exact": expects}}]
        files = {"certificate_chain": {"filename": str(own.chain)}, "private_key": {"filename": str(own.key)}}
        return {
            "common_tls_context": {
                "tls_params": {"tls_minimum_protocol_version": "TLSv1_2", "tls_maximum_protocol_version": "TLSv1_3"},
                "tls_certificates": [files],
                "validation_context": validation,
            }
        }


def name_spans(provider: dict[str, Any], workload: Workload, direction: str, instance: str | None) -> None:
    """Makes a sidecar's spans name the component, the direction, and the replica unless several share this provider."""
    provider["service_name"] = f"{workload.component}-{direction}"
    if instance is not None:
        detectors = "envoy.extensions.tracers.opentelemetry.resource_detectors.v3"
        typed = {
            "@type": f"{TYPES}/{detectors}.StaticConfigResourceDetectorConfig",
            "attributes": {"service.instance.id": instance},
        }
        name = "envoy.tracers.opentelemetry.resource_detectors.static_config"
        provider["resource_detectors"] = [{"name": name, "typed_config": typed}]


def _rename(
    listener: dict[str, Any], name: str, workload: Workload, direction: str, protocol: Protocol
) -> dict[str, Any]:
    """Names a copy of the base listener; returns the listener's connection manager."""
    manager: dict[str, Any] = listener["filter_chains"][0]["filters"][0]["typed_config"]
    listener["name"] = manager["stat_prefix"] = manager["route_config"]["name"] = name
    manager["codec_type"] = "HTTP2" if protocol is Protocol.GRPC else "HTTP1"
    manager["local_reply_config"] = sidecar_replies(inbound=direction == "inbound")
    name_spans(manager["tracing"]["provider"]["typed_config"], workload, direction, workload.name)
    return manager


def _upgrades(protocol: Protocol) -> list[dict[str, Any]]:
    """The upgrades that clients may request from a gateway: WebSockets for GraphQL's subscriptions."""
    return [{"upgrade_type": WEBSOCKET}] if protocol is Protocol.GRAPHQL else []


@cache
def repeatable_paths(service: str) -> tuple[str, ...]:
    """The HTTP/2 paths of a service's read-only gRPC methods, by the contract."""
    contract = FileDescriptorSet.FromString(DESCRIPTOR.read_bytes())
    return tuple(
        f"/{proto.package}.{declared.name}/{method.name}"
        for proto in contract.file
        if proto.package.startswith(f"shop.{service}.")
        for declared in proto.service
        for method in declared.method
        if method.options.idempotency_level == MethodOptions.NO_SIDE_EFFECTS
    )


def _repeatable(outbound: Outbound) -> Sequence[dict[str, Any]]:
    """Envoy's route matches for read-only calls. A GraphQL request does not show whether it is read-only."""
    if outbound.protocol is Protocol.REST:
        return [{"prefix": "/", "headers": [{"name": ":method", "string_match": {"exact": "GET"}}]}]
    paths = repeatable_paths(outbound.callee) if outbound.protocol is Protocol.GRPC else ()
    return [{"path": path} for path in paths]


def _inbound_cluster(inbound: Inbound) -> str:
    return f"inbound|{inbound.port}"


def _outbound_cluster(outbound: Outbound, version: str) -> str:
    return f"outbound|{outbound.port}|{version}|{outbound.callee}"


def _tls_socket(kind: str, context: Mapping[str, Any]) -> dict[str, Any]:
    typed = {"@type": f"{TYPES}/envoy.extensions.transport_sockets.tls.v3.{kind}", **context}
    return {"name": "envoy.transport_sockets.tls", "typed_config": typed}
