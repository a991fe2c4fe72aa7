"""The cluster's API, through the user's kubectl, which has the context, its credentials, and the way to renew them."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from mesh.errors import ClusterError, NotInstalledError

LIMIT_S, APPLY_LIMIT_S, FETCH_LIMIT_S = 30.0, 60.0, 120.0
MAX_LINES = 2
REQUEST_LIMIT = "--request-timeout=20s"
# A cluster may run on this machine, where kubectl must not disturb the measurement.
_YIELDING = ["nice", "-n", "19"] if shutil.which("nice") else []


@dataclass(frozen=True)
class Kubectl:
    """Calls kubectl for one context, and for one namespace if `namespace` is given.

    A call that takes longer than its limit raises a ClusterError. So does a failed call, except in `ask` and `may`; the
    message quotes the cluster.

    Attributes:
        context: Name of the context, fixed for the whole run, even if the user switches the current context meanwhile.
        namespace: Namespace of every call; None for cluster-wide resources.
    """

    program: str
    context: str
    namespace: str | None = None

    @classmethod
    def current(cls, environ: Mapping[str, str]) -> Kubectl:
        """The program that `KUBECTL_BIN` names, else `kubectl` on the PATH, with the current context.

        Raises:
            NotInstalledError: There is no kubectl.
            ClusterError: There is no current context.
        """
        given = environ.get("KUBECTL_BIN", "")
        program = shutil.which(given or "kubectl")
        if program is None:
            cause = f"KUBECTL_BIN={given} is not a program" if given else "it is not on the PATH"
            raise NotInstalledError(
                f"kubectl: {cause}. Install it, or set KUBECTL_BIN to it; or leave out runtime=kubernetes."
            )
        asked = _run([program, "config", "current-context"], None, LIMIT_S)
        if asked.returncode != 0:
            raise ClusterError(
                f"kubectl has no current context: {failure_message(asked)}. Choose one with "
                "`kubectl config use-context NAME` or set KUBECONFIG to a file that has one; "
                "or leave out runtime=kubernetes."
            )
        return cls(program, asked.stdout.strip())

    def within(self, namespace: str) -> Kubectl:
        """This kubectl for a namespace."""
        return replace(self, namespace=namespace)

    def command(self, *arguments: str) -> list[str]:
        """The command line of a call."""
        scope = [] if self.namespace is None else [f"--namespace={self.namespace}"]
        return [*_YIELDING, self.program, f"--context={self.context}", *scope, *arguments]

    def ask(
        self, *arguments: str, stdin: str | None = None, limit_s: float = LIMIT_S
    ) -> subprocess.CompletedProcess[str]:
        """Runs a call, and returns its result."""
        return _run(self.command(*arguments), stdin, limit_s)

    def run(self, *arguments: str, stdin: str | None = None, limit_s: float = LIMIT_S) -> str:
        """Runs a call that must succeed, and returns its output."""
        done = self.ask(*arguments, stdin=stdin, limit_s=limit_s)
        if done.returncode != 0:
            raise ClusterError(f"kubectl {_in_short(arguments)}: {failure_message(done)}")
        return done.stdout

    def get(self, *arguments: str) -> Any:
        """The output of `kubectl get …`, as data."""
        return _data(self.run("get", *arguments, "--output=json", REQUEST_LIMIT), arguments)

    def version(self) -> str:
        """The version of the cluster, such as `v1.36.3`."""
        answer = _data(self.run("version", "--output=json", "--request-timeout=10s"), ["version"])
        return str(answer["serverVersion"]["gitVersion"])

    def may(self, *right: str) -> bool:
        """Whether the user has a permission, such as `patch`, `nodes`."""
        return self.ask("auth", "can-i", *right, REQUEST_LIMIT).stdout.strip() == "yes"

    def raw(self, path: str) -> Any:
        """An answer from the cluster's API, as data."""
        return _data(self.run("get", "--raw", path, REQUEST_LIMIT), [path])

    def apply(self, documents: Sequence[Mapping[str, Any]]) -> None:
        """Creates or changes resources."""
        # In JSON, a string stays a string: kubectl reads an unquoted 57e81234 in YAML as a number, but PyYAML does not
        # quote it.
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(documents)})
        self.run("apply", "--server-side", "--force-conflicts", "--filename=-", stdin=text, limit_s=APPLY_LIMIT_S)

    def evict(self, pod: str) -> None:
        """Has the cluster evict a pod of the namespace, within the pod's disruption budget."""
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
        path = f"/api/v1/namespaces/{self.namespace}/pods/{pod}/eviction"
        self.run("create", f"--raw={path}", "--filename=-", stdin=json.dumps(eviction))

    def execute(
        self, pod: str, container: str, *command: str, stdin: str | None = None, limit_s: float = LIMIT_S
    ) -> str:
        """Runs a command in a container, and returns its output."""
        interactive = [] if stdin is None else ["--stdin"]
        return self.run(
            "exec", *interactive, pod, f"--container={container}", "--", *command, stdin=stdin, limit_s=limit_s
        )

    def fetch(self, pod: str, container: str, source: str, target: Path) -> None:
        """Copies a file out of a container; if that fails, nothing is at the target."""
        command = self.command("exec", pod, f"--container={container}", "--", "cat", source)
        part = target.with_name(f"{target.name}.part")
        try:
            with part.open("wb") as file:
                done = _run(command, None, FETCH_LIMIT_S, out=file)
            if done.returncode != 0:
                raise ClusterError(f"kubectl cannot read {source} of {pod}: {failure_message(done)}")
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)


def failure_message(done: subprocess.CompletedProcess[str]) -> str:
    """kubectl's error message, joined into one line; only the first lines of a long message."""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    plain = [line for line in lines if not line.startswith(("Warning:", "E0", "E1", "I0", "I1", "Defaulted container"))]
    first = [line.removeprefix("error: ").removeprefix("Error from server ") for line in plain or lines[-1:]]
    text = "; ".join(first[:MAX_LINES]).rstrip(".") or f"it ended with exit code {done.returncode}"
    return text if len(first) <= MAX_LINES else f"{text}; and {len(first) - MAX_LINES} more like it"


def _run(
    command: Sequence[str], stdin: str | None, limit_s: float, out: IO[bytes] | int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(  # noqa: S603 - the command lines are our own
            command,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",  # a pod may log any bytes
            timeout=limit_s,
            check=False,
            start_new_session=True,  # Ctrl-C in the terminal is the run's to handle
        )
    except subprocess.TimeoutExpired as error:
        asked = _in_short(command[len(_YIELDING) + 1 :])
        raise ClusterError(f"kubectl {asked} did not answer within {limit_s:g} s") from error


def _data(text: str, asked: Sequence[str]) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ClusterError(f"kubectl {_in_short(asked)}: its answer is not JSON: {text[:80]!r}") from error


def _in_short(arguments: Sequence[str]) -> str:
    return " ".join([word for word in arguments if not word.startswith("-")][:3])
