"""CPU and memory usage of a run's containers.

The kubelets count the CPU seconds of each container, with timestamps to the millisecond. Reading them needs permission
for `nodes/proxy`, which many users do not have. More users may read the metrics API (metrics-server): it gives the mean
over a window of 10 to 30 s, about every 15 s.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from mesh.errors import ClusterError
from mesh.kubernetes.cluster.kubectl import Kubectl
from mesh.kubernetes.manifests.ingress import PROXY

KUBELET, METRICS_API = "kubelet", "metrics API"
CPU, MEMORY = "container_cpu_usage_seconds_total", "container_memory_working_set_bytes"
SIDECAR_SUFFIX = "-sidecar"
MIB = 2**20
#: Units of Kubernetes' quantities.
_UNITS = {
    **{"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18},
    **{"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60},
}
_QUANTITY = re.compile(r"([0-9.]+(?:[eE][+-]?[0-9]+)?)([a-zA-Z]*)")
_SECONDS_OF = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3}
#: A line of the Prometheus text format whose value has a timestamp, in ms.
_LINE = re.compile(r"(\w+)\{([^}]*)\} (\S+) (\d+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of a container between two moments.

    Attributes:
        component: Name of the component; for a sidecar, it ends in `-sidecar`.
        container: Unique identifier of the container.
        began_ns: Start, in nanoseconds since the Unix epoch, by the node's clock.
        ended_ns: End, in nanoseconds by the same clock.
        cpu_s: CPU seconds used in between.
        memory_mb: Working set at the end, MiB.
    """

    component: str
    container: str
    began_ns: int
    ended_ns: int
    cpu_s: float
    memory_mb: float


@dataclass(frozen=True, slots=True)
class Counter:
    """The CPU seconds that a container has used since it started, and its memory."""

    pod: str
    container: str
    at_ns: int
    cpu_s: float
    memory_mb: float


@dataclass
class Kubelets:
    """The kubelets of the nodes that the namespace's pods run on."""

    kubectl: Kubectl
    name: str = KUBELET
    _last: dict[str, Counter] = field(default_factory=dict)
    _usage: dict[str, Usage] = field(default_factory=dict)

    def look(self) -> Sequence[Usage]:
        """Returns the newest figures, which may be unchanged since the last look; a caller that looks often enough gets
        all figures.

        Raises:
            ClusterError: The cluster does not give the figures.
        """
        pods = self.kubectl.get("pods")["items"]
        nodes = sorted({pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")})
        pages = [self.kubectl.run("get", "--raw", f"/api/v1/nodes/{node}/proxy/metrics/resource") for node in nodes]
        namespace = self.kubectl.namespace or "default"
        return self._since_last([counter for page in pages for counter in counters_of(page, namespace)])

    def _since_last(self, counters: Sequence[Counter]) -> Sequence[Usage]:
        components = components_of((counter.pod, counter.container) for counter in counters)
        seen: dict[str, Usage] = {}
        for counter in counters:
            key = f"{counter.pod}/{counter.container}"
            last = self._last.get(key)
            if last is None or counter.at_ns > last.at_ns:
                self._last[key] = counter
                # A restarted container counts from 0.
                before = 0.0 if last is None or counter.cpu_s < last.cpu_s else last.cpu_s
                self._usage[key] = Usage(
                    component=components[counter.pod, counter.container],
                    container=key,
                    began_ns=counter.at_ns if last is None else last.at_ns,
                    ended_ns=counter.at_ns,
                    cpu_s=0.0 if last is None else counter.cpu_s - before,
                    memory_mb=counter.memory_mb,
                )
            seen[key] = self._usage[key]
        return list(seen.values())


@dataclass
class MetricsApi:
    """The metrics API, served by metrics-server or another program."""

    kubectl: Kubectl
    name: str = METRICS_API

    def look(self) -> Sequence[Usage]:
        """Returns the newest figures, as `Kubelets.look` does."""
        path = f"/apis/metrics.k8s.io/v1beta1/namespaces/{self.kubectl.namespace or 'default'}/pods"
        return list(usage_of(self.kubectl.raw(path)))


def usage_source(kubectl: Kubectl) -> Kubelets | MetricsApi:
    """The most precise source that the cluster has and the user may read; the run's pods are running.

    Raises:
        ClusterError: There is no such source.
    """
    refused = []
    for source in (Kubelets(kubectl), MetricsApi(kubectl)):
        try:
            source.look()
            return source
        except ClusterError as error:
            refused.append(f"{source.name}: {error}")
    raise ClusterError(
        f"the cluster does not report what its pods use: {'; '.join(refused)}. Install metrics-server, or let the user "
        "read nodes/proxy."
    )


def counters_of(text: str, namespace: str) -> list[Counter]:
    """Reads the CPU and memory of a namespace's containers from a kubelet's `/metrics/resource`."""
    values: dict[tuple[str, str], dict[str, tuple[float, int]]] = defaultdict(dict)
    for metric, label_text, value, at_ms in _LINE.findall(text):
        labels = dict(_LABEL.findall(label_text))
        if metric in (CPU, MEMORY) and labels["namespace"] == namespace:
            values[labels["pod"], labels["container"]][metric] = (float(value), int(at_ms))
    return [
        Counter(pod, container, of[CPU][1] * 10**6, of[CPU][0], of[MEMORY][0] / MIB)
        for (pod, container), of in values.items()
        if of.keys() == {CPU, MEMORY}
    ]


def usage_of(pods: Mapping[str, Any]) -> Iterator[Usage]:
    """Yields the usage of each container in the metrics API's list of a namespace's pods."""
    components = components_of(
        (pod["metadata"]["name"], container["name"]) for pod in pods["items"] for container in pod["containers"]
    )
    for pod in pods["items"]:
        name, window_s = pod["metadata"]["name"], _seconds(pod["window"])
        ended_ns = round(datetime.fromisoformat(pod["timestamp"]).timestamp() * 1e9)
        for container in pod["containers"]:
            usage = container["usage"]
            yield Usage(
                component=components[name, container["name"]],
                container=f"{name}/{container['name']}",
                began_ns=ended_ns - round(window_s * 1e9),
                ended_ns=ended_ns,
                cpu_s=read_quantity(usage["cpu"]) * window_s,
                memory_mb=read_quantity(usage["memory"]) / MIB,
            )


def components_of(containers: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The component of each container, by pod and container; a sidecar is named after its pod's other container."""
    pods: dict[str, list[str]] = defaultdict(list)
    for pod, container in containers:
        pods[pod].append(container)
    components = {}
    for pod, names in pods.items():
        main = next((name for name in names if name != PROXY), pod)
        for name in names:
            components[pod, name] = main + SIDECAR_SUFFIX if name == PROXY else name
    return components


def read_quantity(text: str) -> float:
    """Reads a quantity, such as `250m`, `10k` or `2Gi`; raises ClusterError for any other text."""
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2] not in _UNITS:
        raise ClusterError(f"the cluster gives the quantity {text!r}; units: {', '.join(filter(None, _UNITS))}")
    return float(match[1]) * _UNITS[match[2]]


def _seconds(duration: str) -> float:
    """Reads a duration as Go writes it: `1m10.5s`."""
    parts = re.findall(r"([0-9.]+)(ms|h|m|s)", duration)
    return sum(float(number) * _SECONDS_OF[unit] for number, unit in parts)
