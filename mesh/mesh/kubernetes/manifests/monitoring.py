"""Prometheus' discovery of a system's pods, and its access to them (`metrics=on`)."""

from __future__ import annotations

from collections.abc import Iterable

from mesh.components.prometheus import PART_OF, SCRAPE_INTERVAL_S
from mesh.description.topology import Topology, metrics_port
from mesh.envoy_config import METRICS_PATH
from mesh.kubernetes.manifests.deployment import SERVICE, Document, document, network_policy
from mesh.kubernetes.options import ClusterOptions

METRICS, OF_ENVOY = "metrics", "envoy-metrics"
"""Names of the ports with metrics; Envoy's path differs from all other paths."""
PATHS = {METRICS: "/metrics", OF_ENVOY: METRICS_PATH}


def metrics_exposed(component: str, options: ClusterOptions, name: str = METRICS) -> Document:
    """The port of a container's metrics."""
    return {"name": name, "containerPort": options.places.ports[metrics_port(component)], "protocol": "TCP"}


def monitoring_policy(names: Iterable[str], options: ClusterOptions) -> Document:
    """Lets a Prometheus in any namespace scrape the pods."""
    prometheus = {"matchLabels": {"app.kubernetes.io/name": "prometheus"}}
    ports = [{"protocol": "TCP", "port": options.places.ports[metrics_port(name)]} for name in sorted(names)]
    spec = {
        "podSelector": {},
        "policyTypes": ["Ingress"],
        "ingress": [{"from": [{"namespaceSelector": {}, "podSelector": prometheus}], "ports": ports}],
    }
    return network_policy(METRICS, options, spec, of="hopwise")


def pod_monitor(topology: Topology, options: ClusterOptions) -> Document:
    """The Prometheus operator's scrape configuration, with the labels that the rules and dashboards use."""
    entered = {
        "sourceLabels": [f"__meta_kubernetes_pod_label_{SERVICE}"],
        "regex": "|".join(sorted(topology.behind_edge)),
        "targetLabel": "entered",
        "replacement": "true",
    }
    always = {**PART_OF, "entered": "false"}
    labelled = [*({"targetLabel": label, "replacement": value} for label, value in always.items()), entered]
    spec = {
        "jobLabel": "app.kubernetes.io/name",
        "selector": {"matchLabels": {"app.kubernetes.io/part-of": "hopwise"}},
        "podMetricsEndpoints": [
            {"port": name, "path": path, "interval": f"{SCRAPE_INTERVAL_S}s", "relabelings": labelled}
            for name, path in PATHS.items()
        ],
    }
    return document("PodMonitor", "monitoring.coreos.com/v1", "shop", options, of="hopwise", spec=spec)
