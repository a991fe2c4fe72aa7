"""Facts about a cluster, for the record of a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mesh.errors import ClusterError
from mesh.kubernetes.cluster.kubectl import Kubectl
from mesh.kubernetes.cluster.usage import MIB, read_quantity


def cluster_facts(kubectl: Kubectl) -> dict[str, Any]:
    """Versions and nodes of a cluster, without facts that the user may not read."""
    facts: dict[str, Any] = {"kubernetes": kubectl.version()}
    try:
        nodes = kubectl.get("nodes")["items"]
    except ClusterError:
        return facts
    described = [(node["status"]["nodeInfo"], node["status"]["capacity"]) for node in nodes]
    return {
        **facts,
        "nodes": len(nodes),
        "cores": round(sum(read_quantity(capacity["cpu"]) for _, capacity in described)),
        "memory_mb": int(sum(read_quantity(capacity["memory"]) for _, capacity in described) / MIB),
        "kernel": _distinct(info["kernelVersion"] for info, _ in described),
        "runtime": _distinct(info["containerRuntimeVersion"] for info, _ in described),
        "architecture": _distinct(info["architecture"] for info, _ in described),
    }


def _distinct(values: Iterable[str]) -> str:
    return ", ".join(sorted(set(values)))
