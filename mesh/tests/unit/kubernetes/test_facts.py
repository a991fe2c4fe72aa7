"""A run's record has the facts about the cluster that the user may read."""

from __future__ import annotations

from typing import Any

import pytest
from stand_ins.cluster import FakeCluster

from mesh.kubernetes.cluster.facts import cluster_facts


def node(cores: str, kernel: str, memory: str = f"{8 * 2**20}Ki") -> dict[str, Any]:
    info = {"kernelVersion": kernel, "containerRuntimeVersion": "containerd://2.2.1", "architecture": "amd64"}
    return {"status": {"nodeInfo": info, "capacity": {"cpu": cores, "memory": memory}}}


def test_nodes_are_added_up_and_what_differs_is_listed(cluster: FakeCluster) -> None:
    cluster.says("get nodes", {"items": [node("4", "6.1"), node("2", "6.12")]})
    expected = {"kubernetes": "v1.36.3", "nodes": 2, "cores": 6, "memory_mb": 16 * 1024, "kernel": "6.1, 6.12"}
    expected |= {"runtime": "containerd://2.2.1", "architecture": "amd64"}
    assert cluster_facts(cluster.kubectl()) == expected


@pytest.mark.parametrize(
    ("cores", "memory", "expected"),
    [
        ("10k", "4Ti", (10_000, 4 * 2**20)),
        ("3920m", "16Gi", (4, 16 * 2**10)),
        ("2", "8589934592", (2, 2**13)),
        ("1e2", "1G", (100, 953)),
    ],
)
def test_nodes_may_give_any_quantity(cluster: FakeCluster, cores: str, memory: str, expected: tuple[int, int]) -> None:
    """Virtual nodes give round numbers of cores, and memory without `Ki`."""
    cluster.says("get nodes", {"items": [node(cores, "6.1", memory)]})
    facts = cluster_facts(cluster.kubectl())
    assert (facts["cores"], facts["memory_mb"]) == expected


def test_a_user_who_may_not_list_nodes_still_gets_a_record(cluster: FakeCluster) -> None:
    cluster.refuses("get nodes", "Error from server (Forbidden): nodes is forbidden")
    assert cluster_facts(cluster.kubectl()) == {"kubernetes": "v1.36.3"}
