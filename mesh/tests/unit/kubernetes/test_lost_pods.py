"""A started run ends when a pod is lost, and reports the reason in the cluster's words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from stand_ins.cluster import FakeCluster

from mesh.description.topology import Program
from mesh.errors import ClusterError, ComponentDiedError, StartError
from mesh.kubernetes.cluster.evictions import drain, evict
from mesh.kubernetes.cluster.rollout import Rollout
from mesh.kubernetes.cluster.system import ClusterSystem

COMPONENTS = ("jaeger", "edge", "product", "order", "user", "payment", "graphql-gateway", "rest-gateway")
EVICTED = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "evicting"}
KILLED = {"exitCode": 137, "reason": "OOMKilled"}


def pod(component: str, *, ready: bool = True, **status: Any) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": str(ready)}, *status.pop("conditions", ())]
    return {
        "kind": "Pod",
        "metadata": {"name": f"{component}-1", "labels": {"app.kubernetes.io/name": component}},
        "spec": {"nodeName": "node-1", "containers": [{"name": component}]},
        "status": {"phase": "Running", "conditions": conditions, **status},
    }


def deployment(component: str) -> dict[str, Any]:
    labels = {"app.kubernetes.io/name": component}
    return {"kind": "Deployment", "metadata": {"name": component, "labels": labels}, "spec": {}, "status": {}}


PODS = [pod(component) for component in COMPONENTS]
JOB = {"kind": "Job", "metadata": {"name": "database"}, "spec": {}, "status": {"succeeded": 1}}


@pytest.fixture
def says(cluster: FakeCluster, system: ClusterSystem) -> Callable[..., None]:
    def say(asked: str, *items: dict[str, Any]) -> None:
        cluster.says(f"--namespace={system.namespace} get {asked}", {"items": list(items)})

    return say


@pytest.fixture
def system(cluster: FakeCluster, make: Callable[..., ClusterSystem]) -> ClusterSystem:
    """A system whose pods are ready."""
    made = make()
    namespace = f"--namespace={made.namespace}"
    cluster.says(f"{namespace} auth can-i", "yes\n")
    cluster.says(f"{namespace} get pods,", {"items": [JOB, *map(deployment, COMPONENTS), *PODS]})
    cluster.says(f"{namespace} get pods --output", {"items": PODS})
    cluster.says(f"{namespace} get events", {"items": []})
    made.components()
    return made


def test_a_run_has_started_once_callers_reach_their_callees(cluster: FakeCluster, system: ClusterSystem) -> None:
    probes = [line.split(" ", 3) for line in cluster.commands if " exec deployment/" in line]
    reached = {pod.partition("/")[2]: {*re.findall(r"/dev/tcp/([a-z-]+)/", script)} for _, _, pod, script in probes}
    # The check runs in the callers: network policies allow only the topology's links.
    assert reached.keys() == {*COMPONENTS} - {"jaeger"}
    assert reached["edge"] == {"graphql-gateway", "rest-gateway", "jaeger"}
    assert reached["order"] == {"product", "user", "payment", "jaeger"}
    cluster.refuses(f"--namespace={system.namespace} exec deployment/order", "command terminated with exit code 124")
    with pytest.raises(StartError, match=r"order does not reach product:18020, .*: command terminated"):
        system.components()
    # A user's image may have no bash.
    system.topology = system.topology.model_copy(update={"programs": {"order": Program(image="mine:1")}})
    system.components()


def test_nothing_is_wrong_with_pods_that_are_as_they_were(system: ClusterSystem) -> None:
    system.check_now()


@pytest.mark.parametrize(
    ("lost", "message"),
    [
        (pod("product", conditions=[EVICTED]), "product-1 is being removed: EvictionByEvictionAPI: evicting"),
        (
            pod("product", ready=False, reason="NodeLost", message="Node node-1 is unresponsive"),
            "product-1 was ended by its node: NodeLost: Node node-1 is unresponsive",
        ),
        (
            pod(
                "product",
                containerStatuses=[{"name": "product", "restartCount": 1, "lastState": {"terminated": KILLED}}],
            ),
            "product-1: product ended because it ran out of memory",
        ),
    ],
)
def test_a_pod_that_is_lost_is_named_with_the_clusters_reason(
    system: ClusterSystem, says: Callable[..., None], lost: dict[str, Any], message: str
) -> None:
    says("pods --output", *(each for each in PODS if each["metadata"]["name"] != "product-1"), lost)
    with pytest.raises(ComponentDiedError, match=message) as caught:
        system.check_now()
    assert caught.value.component == "product-1"


def test_pods_of_a_lost_node_have_the_cluster_s_warning(system: ClusterSystem, says: Callable[..., None]) -> None:
    says("pods --output", *(pod(component, ready=False) for component in COMPONENTS))
    event = {"type": "Warning", "reason": "NodeNotReady", "message": "Node is not ready"}
    says("events", *({**event, "involvedObject": {"name": f"{component}-1"}} for component in COMPONENTS))
    with pytest.raises(ComponentDiedError, match=r"jaeger-1 is no longer ready: NodeNotReady: Node is not ready"):
        system.check_now()


def test_a_pod_that_is_deleted_is_lost_before_it_is_gone(system: ClusterSystem, says: Callable[..., None]) -> None:
    leaving = pod("product")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    others = [each for each in PODS if each["metadata"]["name"] != "product-1"]
    says("pods --output", *others, leaving)
    with pytest.raises(ComponentDiedError, match="product-1 is being deleted: somebody may have deleted it"):
        system.check_now()
    says("pods --output", *others)
    with pytest.raises(ComponentDiedError, match="product-1 is gone: somebody may have deleted it"):
        system.check_now()


def test_a_pod_that_is_evicted_on_purpose_is_not_lost_and_the_next_one_is_looked_after(
    cluster: FakeCluster, system: ClusterSystem, says: Callable[..., None]
) -> None:
    next_one = pod("product")
    next_one["metadata"]["name"] = "product-2"
    after = [*(each for each in PODS if each["metadata"]["name"] != "product-1"), next_one]
    in_namespace = f"--namespace={system.namespace}"
    cluster.says(f"{in_namespace} create --raw")
    cluster.says(f"{in_namespace} wait --for=delete pod/product-1")
    says("pods,deployments", JOB, *map(deployment, COMPONENTS), *after)

    # In the fake cluster, the next pod exists once the run waits for the first pod to end.
    class Replaced(Rollout):
        def until_ready(self, names: Sequence[str], limit_s: float) -> None:
            super().until_ready(names, limit_s)
            says("pods --output", *after)
            system.check_now()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mesh.kubernetes.cluster.system.Rollout", Replaced)
        evict(system, "product")
    path = f"/api/v1/namespaces/{system.namespace}/pods/product-1/eviction"
    assert any(line.startswith(f"{in_namespace} create --raw={path}") for line in cluster.commands)
    assert json.loads(cluster.applied)["metadata"] == {"name": "product-1"}
    system.check_now()
    says("pods --output", *PODS)
    with pytest.raises(ComponentDiedError, match="product-2 is gone"):
        system.check_now()


def test_only_the_shops_pods_leave_a_node_that_is_drained_and_it_takes_pods_again(
    cluster: FakeCluster, system: ClusterSystem, tmp_path: Path
) -> None:
    in_namespace, note = f"--namespace={system.namespace}", tmp_path / ".run" / "1" / "namespace.json"
    cluster.says(f"{in_namespace} get node", {"spec": {}})
    cluster.says(f"{in_namespace} uncordon node-1")
    cluster.refuses(f"{in_namespace} drain node-1", "error: unable to drain node: global timeout reached: 3m0s")
    with pytest.raises(ClusterError, match="global timeout reached"):
        drain(system, ["order", "product"])
    commands = cluster.commands
    (drained,) = [line for line in commands if " drain " in line]
    run = system.options.run
    assert f"--pod-selector=hopwise/run={run},app.kubernetes.io/name in (order,product) " in drained
    assert commands.index(f"{in_namespace} uncordon node-1") > commands.index(drained)
    assert "cordoned" not in json.loads(note.read_text())
    with system.cordoned("node-1"):
        assert json.loads(note.read_text())["cordoned"] == "node-1"
    cluster.says(f"{in_namespace} get node", {"spec": {"unschedulable": True}})
    with pytest.raises(ClusterError, match="node-1 already refuses new pods; `kubectl uncordon node-1` changes that"):
        drain(system, ["order"])


def test_a_call_that_fails_because_a_further_pod_is_lost_has_the_pods_reason(
    system: ClusterSystem, says: Callable[..., None]
) -> None:
    says("pods --output", *PODS, pod("load", conditions=[EVICTED]))
    with (
        pytest.raises(ComponentDiedError, match="load-1 is being removed: EvictionByEvictionAPI"),
        system.watching(["load-1"]),
    ):
        raise ClusterError('kubectl exec load-1: container "load" not found')
    says("pods --output", *PODS)
    system.check_now()
    with pytest.raises(ClusterError, match="connection refused"), system.watching([]):
        raise ClusterError("kubectl exec load-1: connection refused")


def test_each_port_is_forwarded_by_a_separate_process(system: ClusterSystem) -> None:
    # kubectl continues even if some of its ports are in use, and calls to such ports would reach another process.
    pairs = [[word for word in one.argv() if ":" in word] for one in system.components()]
    assert [len(of_one) for of_one in pairs] == [1] * len(pairs)
    assert sorted(int(pair.partition(":")[0]) for (pair,) in pairs) == sorted(
        system.ports[name] for name in ("postgres", "jaeger-query-http", "jaeger-metrics", "edge")
    )
