"""The wait for pods ends when they are ready, or with the first reason why they cannot become ready."""

from __future__ import annotations

from typing import Any

import pytest
from stand_ins.cluster import FakeCluster

from mesh.errors import StartError
from mesh.kubernetes.cluster.rollout import Rollout
from mesh.supervisor.signals import Interrupted

LABELS = {"app.kubernetes.io/name": "order"}
DEPLOYMENT = {
    "kind": "Deployment",
    "metadata": {"name": "order", "labels": LABELS},
    "spec": {"replicas": 2},
    "status": {},
}
JOB = {"kind": "Job", "metadata": {"name": "database"}, "spec": {"completions": 1}, "status": {}}


def pod(name: str, *, ready: bool, **container: Any) -> dict[str, Any]:
    state = {"name": "order", "image": "shop:1", "state": {"running": {}}, **container}
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "labels": LABELS},
        "status": {"phase": "Running", "conditions": [condition], "containerStatuses": [state]},
    }


def rollout(cluster: FakeCluster, *items: dict[str, Any]) -> Rollout:
    cluster.says("get pods,", {"items": list(items)})
    cluster.says("get events", {"items": []})
    return Rollout(cluster.kubectl(), lambda: None)


def test_the_wait_ends_when_the_requested_number_of_pods_is_ready(cluster: FakeCluster) -> None:
    both = [pod("order-1", ready=True), pod("order-2", ready=True)]
    rollout(cluster, DEPLOYMENT, *both).until_ready(["order"], limit_s=5)
    with pytest.raises(StartError, match=r"order not ready within 0 s\. order-2: Running"):
        rollout(cluster, DEPLOYMENT, both[0], pod("order-2", ready=False)).until_ready(["order"], limit_s=0)


def test_a_pod_that_is_being_replaced_counts_no_more(cluster: FakeCluster) -> None:
    leaving = pod("order-1", ready=True)
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    with pytest.raises(StartError, match="not ready"):
        rollout(cluster, DEPLOYMENT, leaving, pod("order-2", ready=True)).until_ready(["order"], limit_s=0)


def test_the_timeout_s_message_has_the_pod_s_warning(cluster: FakeCluster) -> None:
    waiting = rollout(cluster, DEPLOYMENT, pod("order-1", ready=False))
    message = "Readiness probe failed: connection refused"
    about = {"type": "Warning", "reason": "Unhealthy", "message": message, "involvedObject": {"name": "order-1"}}
    cluster.says("get events", {"items": [about]})
    with pytest.raises(StartError, match=f"order-1: Unhealthy: {message}"):
        waiting.until_ready(["order"], limit_s=0)


def test_the_timeout_s_message_has_the_running_container_s_log(cluster: FakeCluster) -> None:
    finished = {**pod("seed-1", ready=False), "status": {"phase": "Succeeded", "conditions": []}}
    starting = pod("database-1", ready=False, state={"waiting": {"reason": "PodInitializing"}})
    starting["status"]["phase"] = "Pending"
    starting["status"]["initContainerStatuses"] = [{"name": "await-server", "state": {"running": {}}, "ready": False}]
    waiting = rollout(cluster, JOB, finished, starting)
    cluster.says("logs database-1 --container=await-server", "db.example:5432 - no response\n")
    with pytest.raises(
        StartError,
        match=r"the job database is not done within 0 s\. database-1: Pending; await-server runs\. End of its log:\n"
        r"  db\.example:5432 - no response",
    ):
        waiting.until_done("database", limit_s=0)


def test_a_crash_ends_the_wait_with_the_end_of_the_log(cluster: FakeCluster) -> None:
    ended = {"terminated": {"exitCode": 2, "reason": "Error"}}
    crashed = pod("order-1", ready=False, state={"waiting": {"reason": "CrashLoopBackOff"}}, lastState=ended)
    waiting = rollout(cluster, DEPLOYMENT, crashed)
    cluster.says("logs order-1", "starting\nSHOP_DATABASE_URL is not set\n")
    with pytest.raises(
        StartError, match=r"order ended with exit code 2\. End of its log:\n  starting\n  SHOP_DATABASE_URL"
    ):
        waiting.until_ready(["order"], limit_s=60)


def test_the_message_for_a_container_that_fails_its_probe_has_the_probe_s_output(cluster: FakeCluster) -> None:
    ended = {"terminated": {"exitCode": 0, "reason": "Completed"}}
    waiting = rollout(cluster, DEPLOYMENT, pod("order-1", ready=False, lastState=ended, restartCount=1))
    message = "Startup probe failed: connection refused"
    about = {"type": "Warning", "reason": "Unhealthy", "message": message, "involvedObject": {"name": "order-1"}}
    cluster.says("get events", {"items": [about]})
    cluster.says("logs order-1", "listening on 0.0.0.0:9999\n")
    with pytest.raises(
        StartError, match=rf"order ended with exit code 0 \(Unhealthy: {message}\)\. End of its log:\n  list"
    ):
        waiting.until_ready(["order"], limit_s=60)


def test_a_problem_seen_once_may_resolve_itself(cluster: FakeCluster) -> None:
    pulling = pod("order-1", ready=False, state={"waiting": {"reason": "ErrImagePull", "message": "timeout"}})
    waiting = rollout(cluster, DEPLOYMENT, pulling)
    looks = iter(range(10))

    def pause() -> None:
        if next(looks) == 1:
            cluster.says("get pods,", {"items": [DEPLOYMENT, pod("order-1", ready=True), pod("order-2", ready=True)]})

    Rollout(waiting.kubectl, pause).until_ready(["order"], limit_s=60)


def test_the_user_can_end_the_wait(cluster: FakeCluster) -> None:
    waiting = rollout(cluster, DEPLOYMENT)

    def pause() -> None:
        raise Interrupted(2)

    with pytest.raises(Interrupted):
        Rollout(waiting.kubectl, pause).until_ready(["order"], limit_s=60)


def test_a_job_is_waited_for_until_it_has_succeeded(cluster: FakeCluster) -> None:
    rollout(cluster, {**JOB, "status": {"succeeded": 1}}).until_done("database", limit_s=5)
    failed = {"conditions": [{"type": "Failed", "status": "True", "message": "Job has reached its backoff limit"}]}
    with pytest.raises(StartError, match="Job database: Job has reached its backoff limit"):
        rollout(cluster, {**JOB, "status": failed}).until_done("database", limit_s=60)


def test_the_message_for_a_failed_pull_has_the_registry_s_error_from_before_the_back_off(cluster: FakeCluster) -> None:
    backed_off = {"waiting": {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "shop:1"'}}
    waiting = rollout(cluster, DEPLOYMENT, pod("order-1", ready=False, state=backed_off))
    about = {"type": "Warning", "involvedObject": {"name": "order-1"}}
    messages = {"Failed": "Failed to pull image: registry.example: not found", "BackOff": "Back-off pulling image"}
    events = [
        {**about, "reason": reason, "message": message, "lastTimestamp": f"2026-01-01T00:00:0{at}Z"}
        for at, (reason, message) in enumerate(messages.items())
    ]
    cluster.says("get events", {"items": events})
    with pytest.raises(StartError, match=r"ImagePullBackOff: Back-off .*registry\.example: not found"):
        waiting.until_ready(["order"], limit_s=60)


def test_the_timeout_s_message_has_the_container_s_waiting_reason(cluster: FakeCluster) -> None:
    creating = {"waiting": {"reason": "ContainerCreating"}}
    waiting = rollout(cluster, DEPLOYMENT, pod("order-1", ready=False, state=creating))
    with pytest.raises(StartError, match=r"order-1: Running; order: ContainerCreating"):
        waiting.until_ready(["order"], limit_s=0)
