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


def waits(reason: str, message: str = "", /, **ended: Any) -> dict[str, Any]:
    """A container that waits for this reason, after its last process has ended."""
    last = {"lastState": {"terminated": ended}, "restartCount": 1} if ended else {}
    return container({"waiting": {"reason": reason, "message": message}}, **last)


UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "Insufficient cpu"}
REFUSED = {"type": "ReplicaFailure", "status": "True", "message": "violates PodSecurity restricted"}
OWNER = {"kind": "ReplicaSet", "metadata": {"name": "order-7f"}, "status": {"conditions": [REFUSED]}}
NO_PROGRAM = 'exec: "pythn": executable file not found in $PATH'
"""A container that could not be started counts as ended too, with this message."""


@pytest.mark.parametrize(
    ("resource", "message", "crashed"),
    [
        *(
            (
                pod(waits(reason, "manifest unknown")),
                f"order-7: the image registry.invalid/shop:1 cannot be pulled: {reason}: manifest unknown. Build it "
                "with `make images` and push it, or set IMAGE_PREFIX and IMAGE_TAG to where it is.",
                False,
            )
            for reason in ("ErrImagePull", "ImagePullBackOff", "InvalidImageName")
        ),
        (pod(waits("CrashLoopBackOff", exitCode=3, reason="Error")), "order-7: order ended with exit code 3", True),
        (
            pod(waits("CreateContainerConfigError", 'secret "keys" not found')),
            'order-7: order cannot start: CreateContainerConfigError: secret "keys" not found',
            False,
        ),
        (
            pod(waits("CrashLoopBackOff", exitCode=128, reason="StartError", message=NO_PROGRAM)),
            f"order-7: order ended with exit code 128: StartError: {NO_PROGRAM}",
            True,
        ),
        (
            pod(waits("RunContainerError", NO_PROGRAM, exitCode=128)),
            f"order-7: order cannot start: RunContainerError: {NO_PROGRAM}",
            True,
        ),
        (pod(conditions=[UNSCHEDULABLE]), "order-7 fits on no node: Insufficient cpu", False),
        (OWNER, "ReplicaSet order-7f: violates PodSecurity restricted", False),
    ],
)
def test_a_problem_that_waiting_does_not_solve_has_its_cause(
    resource: dict[str, Any], message: str, crashed: bool
) -> None:
    (cause,) = causes([resource])
    assert (cause.message, cause.crashed) == (message, crashed)


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


def test_waiting_reasons_of_containers_are_reported_unless_they_wait_for_each_other() -> None:
    creating = container({"waiting": {"reason": "ContainerCreating"}})
    turn = container({"waiting": {"reason": "PodInitializing"}}) | {"name": "later"}
    assert waiting(pod(creating, turn, container({"running": {}}))) == ["order: ContainerCreating"]
