"""A fake cluster with answers set by the tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from stand_ins.cluster import FakeCluster

from mesh.description.ports import Ports
from mesh.description.switches import Switches
from mesh.description.topology import load_topology
from mesh.kubernetes.cluster import rollout
from mesh.kubernetes.cluster.system import ClusterSystem
from mesh.paths import RunFolder


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    """An empty cluster whose user may do everything, and which needs no pauses."""
    monkeypatch.setattr(rollout, "POLL_S", 0.0)
    (tmp_path / "bin").mkdir()
    fake = FakeCluster(tmp_path / "bin")
    fake.says("", "")
    fake.says("config current-context", "kind\n")
    fake.says("version", {"serverVersion": {"gitVersion": "v1.36.3"}})
    fake.says("auth can-i", "yes\n")
    return fake


@pytest.fixture
def make(cluster: FakeCluster, tmp_path: Path, free_ports: Callable[[], Ports]) -> Callable[..., ClusterSystem]:
    def make_system(**settings: str) -> ClusterSystem:
        inherited = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
        environ = {**inherited, **cluster.environ, "IMAGE_TAG": "test", **settings}
        hybrid, switches, folder = load_topology("hybrid"), Switches(runtime="kubernetes"), RunFolder.of(1, tmp_path)
        return ClusterSystem(hybrid, switches, free_ports(), "trial", environ=environ, folder=folder)

    return make_system
