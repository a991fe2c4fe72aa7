"""Fixtures for tests on a real system: short experiments, and systems in a cluster."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiment.blocks import Makers
from experiment.plan.arms_in_blocks import Plan
from experiment.plan.profiles import Profile
from experiment.plan.workload import workload_file
from experiment.runner import begin, run_plan
from hops.run.documents.summary import Summary
from hops.run.files import RunFiles, read_run
from mesh.components.keys import key_pair
from mesh.components.postgres import POSTGRES, own_database
from mesh.description.ports import Ports
from mesh.description.switches import Switches
from mesh.description.topology import load_topology
from mesh.kubernetes.cluster.kubectl import Kubectl
from mesh.kubernetes.cluster.rollout import Rollout
from mesh.kubernetes.cluster.system import PREFIX, ClusterSystem
from mesh.kubernetes.manifests.deployment import account
from mesh.kubernetes.manifests.secrets import secrets
from mesh.kubernetes.manifests.stores import postgres
from mesh.kubernetes.options import cluster_options
from mesh.paths import RunFolder

from ..shared_trials import SharedTrials

TINY = Profile("tiny", warmup_s=1, duration_s=5, rate=20.0, parity_samples=1)


@pytest.fixture(scope="session")
def shared_trials(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SharedTrials:
    """The finished trials of all workers of this session."""
    own = tmp_path_factory.getbasetemp()
    root = own.parent if hasattr(request.config, "workerinput") else own
    return SharedTrials(root / "shared-trials")


@pytest.fixture(scope="module")
def run_short(
    tmp_path_factory: pytest.TempPathFactory, shop_ports: Ports, shared_trials: SharedTrials
) -> Callable[[str, Any], tuple[Summary, RunFiles]]:
    """Runs an experiment's arms in one short block; returns its summary and its files."""

    def run(kind: str, arms: Any) -> tuple[Summary, RunFiles]:
        plan = Plan(kind, kind, arms, 1, TINY, 7, workload_file("default"))
        folder = begin(plan, tmp_path_factory.mktemp("results"))
        summary, path = run_plan(plan, folder, shop_ports, makers=Makers(run=shared_trials.run))
        return summary, read_run(path)

    return run


@pytest.fixture
def make(tmp_path: Path, free_ports: Callable[[], Ports]) -> Callable[..., ClusterSystem]:
    def make_system(
        kind: type[ClusterSystem] = ClusterSystem, topology: str = "hybrid", database_url: str = "", **switches: Any
    ) -> ClusterSystem:
        folder = RunFolder.of(1, root=tmp_path)
        chosen = Switches(runtime="kubernetes", **switches)
        environ = {**os.environ, "DATABASE_URL": database_url}
        return kind(load_topology(topology), chosen, free_ports(), "test", environ=environ, folder=folder)

    return make_system


@pytest.fixture
def elsewhere() -> Iterator[Kubectl]:
    """Runs `kubectl` in a namespace other than the system's."""
    name = f"{PREFIX}{uuid.uuid4().hex[:8]}"
    kubectl = Kubectl.current(os.environ).within(name)
    marks = {"app.kubernetes.io/managed-by": "hopwise"}
    kubectl.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": marks}}])
    yield kubectl
    kubectl.run("delete", "namespace", name, "--ignore-not-found", limit_s=120)


@pytest.fixture
def database_elsewhere(elsewhere: Kubectl, tmp_path: Path) -> str:
    """URL of a PostgreSQL in another namespace, which this machine and all pods reach through the address of a node."""
    assert elsewhere.namespace is not None
    options = replace(cluster_options(os.environ), namespace=elsewhere.namespace)
    config, inside, server = postgres(options)
    published = {key: value for key, value in inside["spec"].items() if key != "clusterIP"}
    outside = {**inside, "spec": {**published, "type": "NodePort"}}
    manifests = secrets(key_pair(tmp_path), own_database("hush-hush", options.places), options)
    elsewhere.apply([account(POSTGRES, options), *manifests, config, outside, server])
    Rollout(elsewhere, lambda: None).until_ready([POSTGRES], 120)
    (node, *_) = elsewhere.get("nodes")["items"]
    host = next(each["address"] for each in node["status"]["addresses"] if each["type"] == "InternalIP")
    port = elsewhere.get("service", POSTGRES)["spec"]["ports"][0]["nodePort"]
    try:
        socket.create_connection((host, port), timeout=5).close()
    except OSError as error:
        pytest.skip(f"this machine does not reach the node at {host}:{port}: {error}")
    return f"postgresql://postgres:hush-hush@{host}:{port}/postgres"
