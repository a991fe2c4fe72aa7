"""How busy the nodes of a run are, read from pods: in every container, `/proc/stat` covers the whole machine."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.kubernetes.cluster.kubectl import Kubectl
from mesh.kubernetes.manifests.ingress import PROXY

#: Ticks of `/proc/stat` in a second: USER_HZ, the same on every Linux that Kubernetes runs on.
TICKS = 100
COMMAND = "date +%s%N; head -n 1 /proc/stat"


@dataclass(frozen=True, slots=True)
class MachineTimes:
    """CPU seconds of a node since it started.

    Attributes:
        at_ns: Time of the reading, in nanoseconds since the Unix epoch, by the node's clock.
        total_s: Total time of all processors.
        steal_s: Time taken by the node's host (steal).
    """

    at_ns: int
    total_s: float
    busy_s: float
    steal_s: float


def machine_times(kubectl: Kubectl, images: str) -> dict[str, MachineTimes]:
    """The times of each node that the namespace's pods run on, by its name; one container on it is asked.

    Args:
        images: Prefix of the names of the project's images.

    Raises:
        ClusterError: A container does not answer.
    """
    running = [pod for pod in kubectl.get("pods")["items"] if pod["status"]["phase"] == "Running"]
    asked = [(pod, next(one for one in pod["spec"]["containers"] if one["name"] != PROXY)) for pod in running]
    # Other images come last, because they may lack the programs in the command.
    asked.sort(key=lambda pair: not pair[1]["image"].startswith(f"{images}/"))
    places: dict[str, tuple[str, str]] = {}
    for pod, main in asked:
        places.setdefault(pod["spec"]["nodeName"], (pod["metadata"]["name"], main["name"]))
    return {
        node: times_of(kubectl.execute(pod, container, "sh", "-c", COMMAND))
        for node, (pod, container) in places.items()
    }


def times_of(text: str) -> MachineTimes:
    """Reads the time and the first line of `/proc/stat` (proc_stat(5))."""
    at_ns, line = text.splitlines()[:2]
    # cpu  user nice system idle iowait irq softirq steal; the rest is included in user and nice.
    user, nice, system, idle, iowait, irq, softirq, steal = (int(ticks) / TICKS for ticks in line.split()[1:9])
    busy_s = user + nice + system + irq + softirq
    return MachineTimes(int(at_ns), busy_s + idle + iowait + steal, busy_s, steal)
