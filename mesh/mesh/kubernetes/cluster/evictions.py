"""Removes pods from a running system as a cluster does: evicts a pod, or drains a node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from mesh.errors import ClusterError
from mesh.kubernetes.cluster.causes import name_of
from mesh.kubernetes.cluster.system import ClusterSystem

GONE_LIMIT_S = 180.0
"""A pod has 90 s to end; pods of one component end one after another."""
ANSWER_S = 10.0


def evict(system: ClusterSystem, component: str) -> None:
    """Evicts a pod of a component, and waits until the pod is gone and the component has all its pods again.

    Raises:
        ClusterError: The cluster refused, or the pod did not end.
        StartError: Another pod did not become ready.
    """
    kubectl = system.kubectl
    with system.replacing([component]) as pods:
        pod = min(map(name_of, pods))
        kubectl.evict(pod)
        limit = f"--timeout={GONE_LIMIT_S:g}s"
        kubectl.run("wait", "--for=delete", f"pod/{pod}", limit, limit_s=GONE_LIMIT_S + ANSWER_S)


def drain(system: ClusterSystem, components: Sequence[str]) -> None:
    """Drains the node that most pods of these components run on, as for maintenance.

    Only these pods leave. The node accepts pods again once they are gone. Meanwhile, a cluster with another node starts
    new pods there; a cluster with a single node has no pods of these components.

    Raises:
        ClusterError: The node was cordoned already, the cluster refused, or a pod did not end.
        StartError: Pods did not become ready again.
    """
    kubectl = system.kubectl
    with system.replacing(components) as pods:
        node, _ = Counter(pod["spec"]["nodeName"] for pod in pods).most_common(1)[0]
        if kubectl.get("node", node)["spec"].get("unschedulable"):
            raise ClusterError(f"the node {node} already refuses new pods; `kubectl uncordon {node}` changes that")
        of_the_shop = f"hopwise/run={system.options.run},app.kubernetes.io/name in ({','.join(sorted(components))})"
        options = [f"--pod-selector={of_the_shop}", "--delete-emptydir-data", f"--timeout={GONE_LIMIT_S:g}s"]
        with system.cordoned(node):
            kubectl.run("drain", node, *options, limit_s=GONE_LIMIT_S + ANSWER_S)
