"""The API's answer shows why a pod does not run."""

from __future__ import annotations

from typing import Any

import pytest

from mesh.kubernetes.cluster.causes import causes, find_restarts, is_ready, last_warning, waiting


def pod(*containers: dict[str, Any], ready: bool = False, **status: Any) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}, *status.pop("conditions", [])]
    return {
        "kind": "Pod",
        "metadata": {"name": "order-7"},
        "status": {"phase": "Pending", "containerStatuses": list(containers), "conditions": conditions, **status},
    }


def container(state: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "order", "image": "registry.invalid/shop:1", "state": state, **more}


@pytest.mark.parametrize("reason", ["ErrImagePull", "ImagePullBackOff", "InvalidImageName"])
def test_an_image_that_cannot_be_pulled_is_named_with_the_registrys_words(reason: str) -> None:
    state = {"waiting": {"reason": reason, "message": "manifest unknown"}}
    (cause,) = causes([pod(container(state))])
    assert f"registry.invalid/shop:1 cannot be pulled: {reason}: manifest unknown" in cause.message
    assert "IMAGE_PREFIX" in cause.message
    assert not cause.crashed


def test_a_container_that_crashes_is_named_with_its_exit_code() -> None:
    ended = {"terminated": {"exitCode": 3, "reason": "Error"}}
    back_off = container({"waiting": {"reason": "CrashLoopBackOff"}}, lastState=ended, restartCount=2)
    (cause,) = causes([pod(back_off)])
    assert (cause.pod, cause.container, cause.crashed) == ("order-7", "order", True)
    assert "exit code 3" in cause.message


def test_a_container_that_runs_out_of_memory_is_reported() -> None:
    ended = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    (cause,) = causes([pod(container({"waiting": {"reason": "CrashLoopBackOff"}}, lastState=ended))])
    assert "out of memory" in cause.message


def test_a_missing_secret_is_the_cause() -> None:
    state = {"waiting": {"reason": "CreateContainerConfigError", "message": 'secret "keys" not found'}}
    (cause,) = causes([pod(container(state))])
    assert cause.message == 'order-7: order cannot start: CreateContainerConfigError: secret "keys" not found'


def test_a_pod_that_fits_nowhere_has_the_schedulers_reason() -> None:
    message = "0/1 nodes are available: 1 Insufficient cpu."
    unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    (cause,) = causes([pod(conditions=[unschedulable])])
    assert "Insufficient cpu" in cause.message


def test_a_pod_that_admission_refuses_is_found_at_its_owner() -> None:
    condition = {"type": "ReplicaFailure", "status": "True", "message": "violates PodSecurity restricted"}
    owner = {"kind": "ReplicaSet", "metadata": {"name": "order-7f"}, "status": {"conditions": [condition]}}
    (cause,) = causes([owner])
    assert cause.message == "ReplicaSet order-7f: violates PodSecurity restricted"


def test_a_starting_container_is_not_a_problem() -> None:
    creating = container({"waiting": {"reason": "ContainerCreating"}})
    running = container({"running": {}}, restartCount=0)
    assert list(causes([pod(creating), pod(running, ready=True)])) == []
    assert is_ready(pod(running, ready=True))
    assert not is_ready(pod(creating))


def test_a_restart_is_not_overlooked_though_the_container_is_back() -> None:
    back = container({"running": {}}, restartCount=1, lastState={"terminated": {"reason": "OOMKilled"}})
    (cause,) = find_restarts([pod(back, ready=True)])
    assert "was restarted (OOMKilled)" in cause.message


def test_the_newest_warning_of_the_pod_counts() -> None:
    def event(at: str, message: str, name: str = "order-7", kind: str = "Warning") -> dict[str, Any]:
        about = {"lastTimestamp": at, "involvedObject": {"name": name}}
        return {"type": kind, "reason": "Unhealthy", "message": message, **about}

    events = [
        event("2026-01-01T00:00:02Z", "newer"),
        event("2026-01-01T00:00:01Z", "older"),
        event("2026-01-01T00:00:03Z", "another pod's", name="user-1"),
        event("2026-01-01T00:00:04Z", "no warning", kind="Normal"),
    ]
    assert last_warning(events, "order-7") == "Unhealthy: newer"
    assert last_warning([], "order-7") == ""
    repeated = [event("2026-01-01T00:00:05Z", "Error: ErrImagePull"), *events]
    repeated += [{**event("2026-01-01T00:00:06Z", "Back-off pulling image"), "reason": "BackOff"}]
    assert last_warning(repeated, "order-7") == "Unhealthy: newer"


def test_the_message_for_a_container_that_cannot_start_has_the_whole_reason() -> None:
    message = 'failed to create containerd task: exec: "pythn": executable file not found in $PATH'
    ended = {"terminated": {"exitCode": 128, "reason": "StartError", "message": message}}
    (cause,) = causes([pod(container({"waiting": {"reason": "CrashLoopBackOff"}}, lastState=ended, restartCount=1))])
    assert cause.message == f"order-7: order ended with exit code 128: StartError: {message}"
    again = container({"waiting": {"reason": "RunContainerError", "message": message}}, lastState=ended)
    (cause,) = causes([pod(again)])
    assert (cause.message, cause.crashed) == (f"order-7: order cannot start: RunContainerError: {message}", True)


def test_waiting_reasons_of_containers_are_reported_unless_they_wait_for_each_other() -> None:
    creating = container({"waiting": {"reason": "ContainerCreating"}})
    turn = container({"waiting": {"reason": "PodInitializing"}}) | {"name": "later"}
    assert waiting(pod(creating, turn, container({"running": {}}))) == ["order: ContainerCreating"]
