"""istiod, which sends the sidecars their configuration and their certificates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from mesh.description.ports import Ports
from mesh.istio.proxy_patches import TRACES
from mesh.istio.resource import ROOT_NAMESPACE
from mesh.istio.services import JAEGER_HOST, JAEGER_PORT
from mesh.istio.tokens import TokenIssuer
from mesh.paths import RunFolder, istio_program
from mesh.sidecars.certificates import Authority
from mesh.sidecars.workloads import TRUST_DOMAIN
from mesh.supervisor.processes import Component
from mesh.supervisor.readiness import accepts

ISTIOD = "istiod"
CLUSTER = "Kubernetes"
"""Istio's default name of a cluster; istiod and the sidecars must state the same name."""
# Turns off filters that only Istio's own build of Envoy has.
UPSTREAM_ENVOY = {
    "PILOT_ENABLE_ALPN_FILTER": "false",
    "PILOT_ENABLE_METADATA_EXCHANGE": "false",
    "PILOT_DISABLE_MX_ALPN": "true",
}
PROXY_HEADERS: Mapping[str, Any] = {
    # Envoy removes a received x-forwarded-client-cert, and sets it from the caller's certificate.
    "forwardedClientCert": "SANITIZE_SET",
    "setCurrentClientCertDetails": {"uri": True, "subject": False, "dns": False},
    "server": {"disabled": True},
    "attemptCount": {"disabled": True},
    "metadataExchangeHeaders": {"mode": "IN_MESH"},
}


def istiod_component(
    ports: Ports, folder: RunFolder, authority: Authority, issuer: TokenIssuer, when_lost: str
) -> Component:
    """What to run for istiod; writes its mesh configuration into the run's folder.

    Args:
        when_lost: Whether istiod is started again when it dies, `restart` or `leave`; sidecars keep the configuration
            that they have.

    Raises:
        NotInstalledError: There is no istiod program.
    """
    program = istio_program(ISTIOD)
    mesh_config = folder.config / "istio-mesh.yaml"
    mesh_config.write_text(yaml.safe_dump(_mesh_config(ports)))
    options = {
        "resources": folder.istio_resources,
        "mesh-config": mesh_config,
        "http": ports.address("istiod-http"),
        "xds": ports.address("istiod-xds"),
        "cluster": CLUSTER,
        "domain": TRUST_DOMAIN,
    }
    return Component(
        ISTIOD,
        argv=lambda: [str(program), *(f"-{name}={value}" for name, value in options.items())],
        env={
            **UPSTREAM_ENVOY,
            # Any user of this machine can dial istiod's ports, so istiod serves only sidecars that authenticate.
            "ENABLE_DEBUG_ON_HTTP": "false",
            "XDS_AUTH_PLAINTEXT": "true",
            "POD_NAMESPACE": ROOT_NAMESPACE,
            "ROOT_CA_DIR": str(authority.folder),
            "JWT_RULE": issuer.rule,
        },
        # istiod's own readiness check waits for webhooks, which only Kubernetes calls. Here istiod listens once it has
        # read all resources.
        ready=accepts(ports["istiod-xds"]),
        stop_rank=4,
        when_lost=when_lost,
    )


def _mesh_config(ports: Ports) -> dict[str, Any]:
    return {
        "trustDomain": TRUST_DOMAIN,
        "rootNamespace": ROOT_NAMESPACE,
        "enableAutoMtls": True,
        "enableTracing": True,
        "outboundTrafficPolicy": {"mode": "REGISTRY_ONLY"},
        "ingressControllerMode": "OFF",
        # Istio's statistics need a filter that upstream Envoy does not have.
        "defaultProviders": {},
        "extensionProviders": [{"name": TRACES, "opentelemetry": {"service": JAEGER_HOST, "port": ports[JAEGER_PORT]}}],
        # A call is retried only if its route says so.
        "defaultHttpRetryPolicy": {"attempts": 0},
        "defaultConfig": {"proxyHeaders": PROXY_HEADERS},
    }
