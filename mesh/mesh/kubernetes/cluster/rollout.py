"""Waits for applied resources, and reports at once why they cannot become ready."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mesh.errors import ClusterError, StartError
from mesh.kubernetes.cluster.causes import (
    Cause,
    Resource,
    causes,
    is_done,
    is_ready,
    last_warning,
    name_of,
    running_container,
    waiting,
)
from mesh.kubernetes.cluster.kubectl import Kubectl

POLL_S = 0.5
LOG_LINES = 15
WATCHED = "pods,deployments,statefulsets,replicasets,jobs"
PATIENCE = 3
"""Number of consecutive checks that must find a problem: a first pull, or a pod that is being replaced, may look wrong
once."""


@dataclass(frozen=True)
class Rollout:
    """The rollout of resources in a namespace.

    Each wait raises a StartError if its goal cannot be reached, or was not reached in time; the message has the first
    cause.

    Attributes:
        pause: Called between two checks; may raise an exception to end the wait.
    """

    kubectl: Kubectl
    pause: Callable[[], None]

    def until_ready(self, names: Sequence[str], limit_s: float) -> None:
        """Waits until the pods of these components are ready."""
        self._until(lambda state: _all_ready(state, names), f"{', '.join(names)} not ready", limit_s)

    def until_done(self, job: str, limit_s: float) -> None:
        """Waits until a job has succeeded."""
        self._until(lambda state: _is_done(state, job), f"the job {job} is not done", limit_s)

    def until_running(self, job: str, limit_s: float) -> None:
        """Waits until every pod of a job runs."""
        self._until(lambda state: _all_running(state, job), f"the job {job} is not running", limit_s)

    def _until(self, reached: Callable[[Sequence[Resource]], bool], wanted: str, limit_s: float) -> None:
        began, seen = time.monotonic(), 0
        while True:
            state: list[Any] = self.kubectl.get(WATCHED)["items"]
            if reached(state):
                return
            # A pod's cause says more than its owner's.
            wrong = next(causes(sorted(state, key=lambda item: item["kind"] != "Pod")), None)
            seen = seen + 1 if wrong else 0
            if wrong is not None and seen >= PATIENCE:
                raise StartError(self.explain(wrong))
            if time.monotonic() - began > limit_s:
                raise StartError(f"{wanted} within {limit_s:g} s. {self._why_not(state)}".rstrip())
            self.pause()
            time.sleep(POLL_S)

    def explain(self, cause: Cause) -> str:
        """A cause, with the cluster's warning, and the end of the container's log if the log has more details."""
        warning = self.warning(cause.pod) if cause.container else ""
        text = cause.message if warning.partition(": ")[2] in cause.message else f"{cause.message} ({warning})"
        log = self._end_of_log(cause.pod, cause.container) or "; its log is empty." if cause.crashed else ""
        return text + log

    def _end_of_log(self, pod: str, container: str) -> str:
        """The last lines of a container's log, from before its restart if there was one; empty without a log."""
        for which in ("--previous=true", "--previous=false"):
            log = self.kubectl.ask("logs", pod, f"--container={container}", f"--tail={LOG_LINES}", which)
            lines = log.stdout.splitlines()
            if log.returncode == 0 and lines:
                return ". End of its log:\n" + "\n".join(f"  {line}" for line in lines)
        return ""

    def _why_not(self, state: Sequence[Resource]) -> str:
        """Everything known about the first pod that is not ready."""
        unready = [item for item in state if item["kind"] == "Pod" and not is_ready(item) and not is_done(item)]
        if not unready:
            return "No pod was made for it."
        pod, status = name_of(unready[0]), unready[0]["status"]
        why = "; ".join([f"{pod}: {self.warning(pod) or status.get('phase', 'unknown')}", *waiting(unready[0])])
        running = running_container(unready[0])
        return why if running is None else f"{why}; {running} runs" + self._end_of_log(pod, running)

    def warning(self, pod: str) -> str:
        """The newest warning about a pod; empty if there is none, or if the user may not read warnings."""
        try:
            events = self.kubectl.get("events", f"--field-selector=involvedObject.name={pod}")["items"]
        except ClusterError:
            return ""
        return last_warning(events, pod)


def _of(state: Sequence[Resource], kind: str, name: str) -> list[Resource]:
    return [
        item
        for item in state
        if item["kind"] == kind and item["metadata"].get("labels", {}).get("app.kubernetes.io/name") == name
    ]


def _all_ready(state: Sequence[Resource], names: Sequence[str]) -> bool:
    for name in names:
        owners = [*_of(state, "Deployment", name), *_of(state, "StatefulSet", name)]
        wanted = sum(owner["spec"].get("replicas", 1) for owner in owners)
        living = [pod for pod in _of(state, "Pod", name) if "deletionTimestamp" not in pod["metadata"]]
        if not owners or sum(map(is_ready, living)) < wanted:
            return False
    return True


def _jobs(state: Sequence[Resource], name: str) -> list[Resource]:
    return [item for item in state if item["kind"] == "Job" and name_of(item) == name]


def _is_done(state: Sequence[Resource], job: str) -> bool:
    jobs = _jobs(state, job)
    return any(item["status"].get("succeeded", 0) >= item["spec"].get("completions", 1) for item in jobs)


def _all_running(state: Sequence[Resource], job: str) -> bool:
    labelled = [item for item in state if item["metadata"].get("labels", {}).get("batch.kubernetes.io/job-name") == job]
    return any(sum(map(is_ready, labelled)) >= item["spec"]["completions"] for item in _jobs(state, job))
