"""A cluster's container metrics, from both sources, are converted to CPU seconds between two moments."""

from __future__ import annotations

import json
from typing import Any

import pytest
from stand_ins.cluster import FakeCluster

from mesh.errors import ClusterError
from mesh.kubernetes.cluster.machines import MachineTimes, machine_times, times_of
from mesh.kubernetes.cluster.usage import KUBELET, METRICS_API, Kubelets, MetricsApi, Usage, usage_of, usage_source

NOON_MS = 1_795_333_200_000
NAMESPACE = "hopwise-1"


@pytest.fixture
def cluster(cluster: FakeCluster) -> FakeCluster:
    pods = [pod("order-5f-a"), pod("order-5f-b"), pod("load-0", "")]
    cluster.says(f"--namespace={NAMESPACE} get pods", {"items": pods})
    return cluster


def pod(name: str, node: str = "node1", image: str = "ours/shop:1") -> dict[str, Any]:
    containers = [{"name": "istio-proxy", "image": "istio/proxyv2"}, {"name": "order", "image": image}]
    spec = {"containers": containers} | ({"nodeName": node} if node else {})
    return {"metadata": {"name": name}, "spec": spec, "status": {"phase": "Running" if node else "Pending"}}


def kubelet_says(cluster: FakeCluster, *figures: tuple[str, str, float, int]) -> None:
    """Sets the kubelet's answer: pod, container, CPU seconds and seconds past noon."""
    lines = ["# HELP container_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the container"]
    for name, container, cpu_s, at_s in figures:
        labels = f'{{container="{container}",namespace="{NAMESPACE}",pod="{name}"}}'
        lines.append(f"container_cpu_usage_seconds_total{labels} {cpu_s} {NOON_MS + at_s * 1000}")
        lines.append(f"container_memory_working_set_bytes{labels} 9.437184e+06 {NOON_MS + at_s * 1000}")
    other = '{container="order",namespace="other",pod="order-5f-a"}'
    lines.append(f"container_cpu_usage_seconds_total{other} 99 {NOON_MS}")
    lines.append(f"container_memory_working_set_bytes{other} 99 {NOON_MS}")
    lines.append(f"node_cpu_usage_seconds_total 51643.159772946 {NOON_MS}")
    cluster.says(
        f"--namespace={NAMESPACE} get --raw /api/v1/nodes/node1/proxy/metrics/resource", "\n".join(lines) + "\n"
    )


def test_a_kubelets_counters_are_used_from_one_look_to_the_next(cluster: FakeCluster) -> None:
    source = Kubelets(cluster.kubectl().within(NAMESPACE))
    kubelet_says(cluster, ("order-5f-a", "order", 2.5, 0), ("order-5f-a", "istio-proxy", 1.0, 0))
    assert [usage.cpu_s for usage in source.look()] == [0.0, 0.0]
    kubelet_says(cluster, ("order-5f-a", "order", 4.0, 5), ("order-5f-a", "istio-proxy", 1.25, 4))
    at = NOON_MS * 10**6
    expected = [
        Usage("order", "order-5f-a/order", at, at + 5 * 10**9, 1.5, 9.0),
        Usage("order-sidecar", "order-5f-a/istio-proxy", at, at + 4 * 10**9, 0.25, 9.0),
    ]
    assert source.look() == expected
    assert source.look() == expected, "figures that have not changed are those of the last look"


def test_a_container_that_starts_again_counts_from_nothing_and_a_gone_one_is_left_out(cluster: FakeCluster) -> None:
    source = Kubelets(cluster.kubectl().within(NAMESPACE))
    kubelet_says(cluster, ("order-5f-a", "order", 2.5, 0), ("order-5f-b", "order", 2.0, 0))
    source.look()
    kubelet_says(cluster, ("order-5f-a", "order", 0.5, 5))
    (usage,) = source.look()
    assert (usage.container, usage.cpu_s) == ("order-5f-a/order", 0.5)


METRICS = {
    "kind": "PodMetricsList",
    "apiVersion": "metrics.k8s.io/v1beta1",
    "items": [
        {
            "metadata": {"name": "order-5f-a", "namespace": NAMESPACE},
            "timestamp": "2026-11-22T12:00:15Z",
            "window": "15.25s",
            "containers": [
                {"name": "istio-proxy", "usage": {"cpu": "12345678n", "memory": "40Mi"}},
                {"name": "order", "usage": {"cpu": "200m", "memory": "51200Ki"}},
            ],
        },
        {
            "metadata": {"name": "postgres-0", "namespace": NAMESPACE},
            "timestamp": "2026-11-22T12:00:10Z",
            "window": "1m0s",
            "containers": [{"name": "postgres", "usage": {"cpu": "0", "memory": "1048576"}}],
        },
    ],
}


def test_the_metrics_api_gives_means_over_windows() -> None:
    proxy, order, postgres = usage_of(METRICS)
    assert (proxy.component, order.component, postgres.component) == ("order-sidecar", "order", "postgres")
    assert order.cpu_s == pytest.approx(0.2 * 15.25)
    assert proxy.cpu_s == pytest.approx(0.012345678 * 15.25)
    assert (order.memory_mb, proxy.memory_mb, postgres.memory_mb) == (50.0, 40.0, 1.0)
    assert order.ended_ns - order.began_ns == 15_250_000_000
    assert postgres.ended_ns - postgres.began_ns == 60_000_000_000
    assert order.ended_ns - postgres.ended_ns == 5_000_000_000


def test_a_quantity_of_an_unknown_unit_is_refused() -> None:
    metrics = json.loads(json.dumps(METRICS).replace("200m", "200y"))
    with pytest.raises(ClusterError, match=r"the quantity '200y'; units: n, u, m"):
        list(usage_of(metrics))


def test_the_kubelets_are_preferred_to_the_metrics_api(cluster: FakeCluster) -> None:
    kubectl = cluster.kubectl().within(NAMESPACE)
    metrics = f"--namespace={NAMESPACE} get --raw /apis/metrics.k8s.io/v1beta1/namespaces/{NAMESPACE}/pods"
    kubelet = f"--namespace={NAMESPACE} get --raw /api/v1/nodes/node1/proxy/metrics/resource"
    cluster.says(metrics, METRICS)
    kubelet_says(cluster, ("order-5f-a", "order", 2.5, 0))
    assert usage_source(kubectl).name == KUBELET
    cluster.refuses(kubelet, 'Error from server (Forbidden): nodes "node1" is forbidden: User "ann" cannot get')
    source = usage_source(kubectl)
    assert (source.name, isinstance(source, MetricsApi)) == (METRICS_API, True)
    assert len(source.look()) == 3
    cluster.refuses(metrics, "Error from server (NotFound): the server could not find the requested resource")
    with pytest.raises(ClusterError, match=r"Forbidden.*could not find.*Install metrics-server") as refused:
        usage_source(kubectl)
    assert "kubelet: " in str(refused.value)


@pytest.mark.parametrize(
    ("images", "asked"), [(("mine:1", "ours/shop:1"), "order-5f-b"), (("mine:1", "mine:1"), "order-5f-a")]
)
def test_a_nodes_times_are_read_in_a_container_that_runs_there_if_possible_with_an_image_of_ours(
    cluster: FakeCluster, images: tuple[str, str], asked: str
) -> None:
    pods = [pod("order-5f-a", image=images[0]), pod("order-5f-b", image=images[1]), pod("load-0", "")]
    cluster.says(f"--namespace={NAMESPACE} get pods", {"items": pods})
    text = f"{NOON_MS}000000\ncpu  100 20 300 4000 50 6 7 80 9 10\n"
    cluster.says(f"--namespace={NAMESPACE} exec {asked} --container=order -- sh -c", text)
    times = machine_times(cluster.kubectl().within(NAMESPACE), "ours")
    assert times == {"node1": times_of(text)}
    assert times["node1"] == MachineTimes(NOON_MS * 10**6, pytest.approx(45.63), pytest.approx(4.33), 0.8)
