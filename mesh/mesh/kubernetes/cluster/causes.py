"""Root causes of problems in the cluster, in the cluster's own words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Resource = Mapping[str, Any]

UNPULLABLE = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError"}
)
NEVER_STARTS = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})
NEXT = "PodInitializing"
"""The waiting reason of a container that waits for earlier containers."""


@dataclass(frozen=True, slots=True)
class Cause:
    """The cause of a problem.

    Attributes:
        pod: The pod that the problem is about; empty if it is not about a pod.
        container: The container that the problem is about; empty if it is not about a container.
        message: The problem, for people.
        crashed: Whether the container's log has more details.
    """

    pod: str
    container: str
    message: str
    crashed: bool = False


def causes(resources: Iterable[Resource]) -> Iterator[Cause]:
    """Yields the problems that waiting does not solve, of pods and of the deployments and jobs that own them."""
    for resource in resources:
        yield from (_of_pod if resource["kind"] == "Pod" else _of_owner)(resource)


def _of_pod(pod: Resource) -> Iterator[Cause]:
    name, status = pod["metadata"]["name"], pod["status"]
    if status.get("reason") in ("Evicted", "NodeLost", "OutOfcpu", "OutOfmemory", "UnexpectedAdmissionError"):
        yield Cause(name, "", f"{name} was ended by its node: {_text_of(status)}")
    for condition in status.get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition.get("reason") == "Unschedulable":
            yield Cause(name, "", f"{name} fits on no node: {condition.get('message', '')}")
        elif condition["type"] == "DisruptionTarget" and condition["status"] == "True":
            yield Cause(name, "", f"{name} is being removed: {condition.get('reason')}: {condition.get('message')}")
    for container in _containers(status):
        yield from _of_container(name, container)


def _of_container(pod: str, container: Resource) -> Iterator[Cause]:
    name, state = container["name"], container.get("state", {})
    waiting, reason = state.get("waiting", {}), state.get("waiting", {}).get("reason", "")
    ended = state.get("terminated") or container.get("lastState", {}).get("terminated")
    if reason in UNPULLABLE:
        yield Cause(
            pod,
            name,
            f"{pod}: the image {container['image']} cannot be pulled: {_text_of(waiting)}. Build it with "
            "`make images` and push it, or set IMAGE_PREFIX and IMAGE_TAG to where it is.",
        )
    elif reason in NEVER_STARTS:
        yield Cause(pod, name, f"{pod}: {name} cannot start: {_text_of(waiting)}", crashed=ended is not None)
    elif ended is not None and (ended.get("exitCode") or reason == "CrashLoopBackOff" or container.get("restartCount")):
        ran_out = ended.get("reason") == "OOMKilled"
        how = "because it ran out of memory" if ran_out else f"with exit code {ended.get('exitCode')}"
        # A container that could not be started counts as ended too; only its message has the reason.
        more = f": {_text_of(ended)}" if ended.get("message") else ""
        yield Cause(pod, name, f"{pod}: {name} ended {how}{more}", crashed=True)


def _text_of(state: Resource) -> str:
    return ": ".join(filter(None, (state.get("reason"), state.get("message", "").strip())))


def waiting(pod: Resource) -> list[str]:
    """The waiting reasons of a pod's containers, such as `order: ErrImagePull: …`, except for containers that wait for
    other containers."""
    states = ((each["name"], each.get("state", {}).get("waiting", {})) for each in _containers(pod["status"]))
    return [f"{name}: {_text_of(state)}" for name, state in states if state.get("reason", NEXT) != NEXT]


def _of_owner(owner: Resource) -> Iterator[Cause]:
    kind, name = owner["kind"], owner["metadata"]["name"]
    for condition in owner.get("status", {}).get("conditions", ()):
        if condition["type"] in ("ReplicaFailure", "Failed") and condition["status"] == "True":
            yield Cause("", "", f"{kind} {name}: {condition.get('message') or condition.get('reason')}")


def name_of(resource: Resource) -> str:
    """A resource's name."""
    return str(resource["metadata"]["name"])


def is_ready(pod: Resource) -> bool:
    """Whether a pod accepts calls."""
    conditions = pod["status"].get("conditions", ())
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def is_done(pod: Resource) -> bool:
    """Whether a pod has run to its end."""
    return bool(pod["status"].get("phase") == "Succeeded")


def running_container(pod: Resource) -> str | None:
    """The container that a pod waits for: the first that runs but is not ready; None if there is no such container."""
    waiting = (
        container["name"]
        for container in _containers(pod["status"])
        if "running" in container.get("state", {}) and not container.get("ready")
    )
    return next(waiting, None)


def last_warning(events: Iterable[Resource], pod: str) -> str:
    """The newest warning about a pod, such as `Unhealthy: Readiness probe failed: …`; empty if there is none.

    Warnings that only repeat a container's waiting reason are left out: restart back-off, and `Error: ErrImagePull`.
    """
    about = [
        event
        for event in events
        if event.get("type") == "Warning"
        and event.get("involvedObject", {}).get("name") == pod
        and event.get("reason") != "BackOff"
        and not str(event.get("message", "")).startswith("Error: ")
    ]
    newest = max(about, key=lambda event: event.get("lastTimestamp") or event.get("eventTime") or "", default=None)
    return "" if newest is None else f"{newest.get('reason')}: {str(newest.get('message', '')).strip()}"


def find_restarts(pods: Iterable[Resource]) -> Iterator[Cause]:
    """Yields containers that were restarted since their pod started; a run must report these even if they run again."""
    for pod in pods:
        for container in _containers(pod["status"]):
            if container.get("restartCount", 0):
                how = container.get("lastState", {}).get("terminated", {}).get("reason", "an unknown reason")
                pod_name, name = name_of(pod), container["name"]
                yield Cause(pod_name, name, f"{pod_name}: {name} was restarted ({how})", crashed=True)


def _containers(status: Resource) -> Iterator[Resource]:
    yield from status.get("initContainerStatuses", ())
    yield from status.get("containerStatuses", ())
