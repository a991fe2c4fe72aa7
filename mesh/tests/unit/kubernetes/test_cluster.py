"""If a run fails to start for any reason, its namespace is removed, and the user gets the reason."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from stand_ins.cluster import FakeCluster

from mesh.cli import clean
from mesh.description.ports import load_ports
from mesh.description.switches import parse_switches
from mesh.description.topology import load_topology
from mesh.errors import ClusterError, InputError, StartError
from mesh.kubernetes.cluster.system import ClusterSystem
from mesh.kubernetes.manifests.bundle import BASE, manifests
from mesh.paths import RunFolder
from mesh.supervisor.signals import Interrupted

JOB = {"kind": "Job", "metadata": {"name": "database"}, "spec": {"completions": 1}, "status": {}}
FAILED = {"conditions": [{"type": "Failed", "status": "True", "message": "the database job has failed"}]}


@pytest.fixture
def system(cluster: FakeCluster, make: Callable[..., ClusterSystem]) -> ClusterSystem:
    system = make()
    cluster.says(in_namespace(system, "auth can-i"), "yes\n")
    return system


def in_namespace(system: ClusterSystem, *words: str) -> str:
    return " ".join([f"--namespace={system.namespace}", *words])


def deleted(cluster: FakeCluster, namespace: str) -> bool:
    commands = cluster.commands
    gone = f"wait --for=delete namespace/{namespace}"
    return f"delete namespace {namespace} --ignore-not-found --wait=false" in commands and any(
        line.startswith(gone) for line in commands
    )


def test_a_refusal_of_the_cluster_ends_the_run_and_its_namespace(cluster: FakeCluster, system: ClusterSystem) -> None:
    cluster.refuses(in_namespace(system, "apply"), "Error from server (Forbidden): exceeded quota: pods=10")
    with pytest.raises(ClusterError, match="exceeded quota: pods=10"), system:
        pytest.fail("it must not begin")
    assert deleted(cluster, system.namespace)


def test_a_start_that_fails_keeps_the_pods_logs_and_nothing_else(
    cluster: FakeCluster, system: ClusterSystem, tmp_path: Path
) -> None:
    pod = {"kind": "Pod", "metadata": {"name": "postgres-0", "labels": {}}, "status": {}}
    cluster.says(in_namespace(system, "get pods --output"), {"items": [pod]})
    cluster.says(in_namespace(system, "get pods,"), {"items": [{**JOB, "status": FAILED}]})
    text = b"database system is ready\nnot UTF-8: \xff\n".decode(errors="surrogateescape")
    cluster.says(in_namespace(system, "logs postgres-0"), text)
    with pytest.raises(StartError, match="the database job has failed"), system:
        pytest.fail("it must not begin")
    assert deleted(cluster, system.namespace)
    assert (system.folder.logs / "postgres-0.log").read_text().endswith(" ready\nnot UTF-8: \ufffd\n")
    assert not (tmp_path / ".run" / "1" / "namespace.json").exists()


def test_ctrl_c_while_it_starts_removes_the_namespace(cluster: FakeCluster, system: ClusterSystem) -> None:
    pending = {"kind": "Pod", "metadata": {"name": "postgres-0", "labels": {}}, "status": {"phase": "Pending"}}
    cluster.says(in_namespace(system, "get pods,"), {"items": [JOB, pending]})
    # kubectl's stand-in sends the signal when the run lists the pods, in the middle of the start.
    cluster.interrupts(in_namespace(system, "get pods,"), os.getpid(), signal.SIGINT)
    with pytest.raises(Interrupted), system:
        pytest.fail("it must not begin")
    assert deleted(cluster, system.namespace)


@pytest.mark.parametrize(
    ("refused", "stays"),
    [
        ("", False),
        ('Error from server (NotFound): nodes "node-7" not found', False),
        ("Error from server (Forbidden): no", True),
    ],
)
def test_the_next_run_removes_what_a_killed_one_left(
    cluster: FakeCluster,
    system: ClusterSystem,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    refused: str,
    *,
    stays: bool,
) -> None:
    note = tmp_path / ".run" / "1" / "namespace.json"
    note.write_text(json.dumps({"context": "kind", "namespace": "hopwise-left", "cordoned": "node-7"}))
    cluster.says("uncordon node-7", err=refused, code=1 if refused else 0)
    cluster.refuses("version", "connection refused")
    with pytest.raises(ClusterError, match="does not answer"), system:
        pytest.fail("it must not begin")
    assert deleted(cluster, "hopwise-left")
    printed = capsys.readouterr().err
    assert "hopwise-left" in printed
    assert "Uncordoning the node node-7" in printed
    assert "uncordon node-7" in cluster.commands
    assert ("kubectl --context=kind uncordon node-7" in printed, note.exists()) == (stays, stays)


def test_a_further_run_does_not_forget_what_a_killed_one_left(
    cluster: FakeCluster, system: ClusterSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = {"context": "kind", "namespace": "hopwise-left", "cordoned": "node-7"}
    system.folder.cluster_note.write_text(json.dumps(left))
    cluster.refuses("uncordon node-7", "connection refused")
    cluster.refuses(in_namespace(system, "apply"), "Error from server (Forbidden): no")
    with pytest.raises(ClusterError, match="no"), system:
        pytest.fail("it must not begin")
    assert [json.loads(note.read_text()) for note in tmp_path.glob(".run/1/namespace*.json")] == [left]
    cluster.says("uncordon node-7")
    monkeypatch.setattr(RunFolder, "all", lambda: [system.folder])
    monkeypatch.setenv("KUBECTL_BIN", str(cluster.program))
    clean()
    assert list(tmp_path.glob(".run/*")) == []


@pytest.mark.parametrize("refused", ["", "config current-context", "delete namespace"])
def test_clean_removes_what_a_killed_run_left_in_a_cluster(
    cluster: FakeCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    refused: str,
) -> None:
    folder = RunFolder.of(1, tmp_path)
    folder.cluster_note.write_text(json.dumps({"context": "kind", "namespace": "hopwise-left"}))
    monkeypatch.setattr(RunFolder, "all", lambda: [folder])
    monkeypatch.setenv("KUBECTL_BIN", str(cluster.program))
    if refused:
        cluster.refuses(refused, "connection refused")
    clean()
    assert deleted(cluster, "hopwise-left") is not bool(refused)
    assert ("kubectl --context=kind delete namespace hopwise-left" in capsys.readouterr().err) is bool(refused)
    kept = [one.relative_to(tmp_path) for one in tmp_path.glob(".run/1/*")]
    assert kept == ([Path(".run", "1", "namespace.json")] if refused else [])


def test_a_remaining_namespace_is_reported_with_the_clusters_reason(
    cluster: FakeCluster, system: ClusterSystem, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.refuses(in_namespace(system, "apply"), "Error from server (Forbidden): no")
    cluster.refuses("wait --for=delete", "error: timed out waiting for the condition")
    why = {"status": "True", "message": "Discovery failed for metrics.k8s.io"}
    cluster.says(f"get namespace {system.namespace}", {"status": {"conditions": [why]}})
    with pytest.raises(ClusterError, match="no"), system:
        pytest.fail("it must not begin")
    printed = capsys.readouterr().err
    assert "Discovery failed for metrics.k8s.io" in printed
    assert f"kubectl --context=kind delete namespace {system.namespace}" in printed
    assert (tmp_path / ".run" / "1" / "namespace.json").exists()


def test_a_missing_right_to_usage_is_reported_before_anything_runs(cluster: FakeCluster, system: ClusterSystem) -> None:
    for refused in ("get nodes", "get pods.metrics.k8s.io"):
        cluster.says(in_namespace(system, f"auth can-i {refused}"), "no\n", code=1)
    with pytest.raises(ClusterError, match=r"can get neither nodes/proxy nor pods\.metrics\.k8s\.io"), system:
        pytest.fail("it must not begin")
    assert sum("apply" in line for line in cluster.commands) == 1, "the namespace, and no pod of the shop"
    assert deleted(cluster, system.namespace)


@pytest.mark.parametrize("host", ["127.0.0.1:5432", "localhost", "[::1]:5432"])
def test_a_database_that_pods_cannot_reach_is_refused_before_anything_is_made(
    cluster: FakeCluster, make: Callable[..., ClusterSystem], host: str
) -> None:
    with (
        pytest.raises(InputError, match=r"DATABASE_URL: in a pod, .* is the pod itself"),
        make(DATABASE_URL=f"postgresql://postgres:hush@{host}/postgres"),
    ):
        pytest.fail("it must not begin")
    assert not any("apply" in line for line in cluster.commands)


def test_without_the_right_nothing_is_created(cluster: FakeCluster, system: ClusterSystem) -> None:
    cluster.says("auth can-i create namespaces", "no\n", code=1)
    with pytest.raises(ClusterError, match="is not allowed to create namespaces"), system:
        pytest.fail("it must not begin")
    assert not any("apply" in line for line in cluster.commands)


def test_replicas_are_pods_of_one_service_with_the_chosen_program(tmp_path: Path) -> None:
    chosen = {"replicas": "product:2,rest-gateway:3", "implementation": "product:go"}
    switches = parse_switches(runtime="kubernetes", mesh="istio", **chosen)
    folder = RunFolder.of(30000, tmp_path)
    system = ClusterSystem(load_topology("hybrid"), switches, load_ports({}), "t1", environ={}, folder=folder)
    assert system.options.replicas == {"product": 2, "rest-gateway": 3}
    assert [str(place) for place in system.places.endpoints("product-grpc")] == ["product:18020"]
    _, product = manifests(system.topology, system.switches, system.options)[f"{BASE}/product.yaml"]
    (container,) = product["spec"]["template"]["spec"]["containers"]
    assert container["image"] == system.options.image("shop-go")
