"""A kubectl that answers from a table, for answers that a healthy cluster does not give."""

from __future__ import annotations

import json
import marshal
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mesh.kubernetes.cluster.kubectl import Kubectl

CONTEXT = os.environ.get("HOPWISE_TEST_CONTEXT", "")

needs_cluster = pytest.mark.skipif(
    not CONTEXT, reason="no cluster is given for tests: set HOPWISE_TEST_CONTEXT to the current kubectl context"
)
"""For tests that make namespaces in a real cluster: skipped without a cluster that the user named for them and that has
the images."""


def namespaces() -> list[str]:
    """Returns the namespaces of runs in the test cluster."""
    selector = "--selector=app.kubernetes.io/managed-by=hopwise"
    command = ["kubectl", f"--context={CONTEXT}", "get", "namespaces", selector, "--output=name"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    names = [line.partition("/")[2] for line in done.stdout.splitlines()]
    return [name for name in names if name.startswith("hopwise-")]


# Tests call this program hundreds of times, so it imports only built-in modules.
PROGRAM = """#!{python} -ES
import marshal, os, sys
os.chdir(os.path.dirname(__file__))
sys.stdout.reconfigure(errors="surrogateescape")
asked = " ".join(word for word in sys.argv[1:] if not word.startswith("--context"))
with open("asked", "a") as file:
    print(asked, file=file)
if "--filename=-" in sys.argv:
    with open("applied", "w") as file:
        file.write(sys.stdin.read())
with open("answers", "rb") as file:
    answers, signals = marshal.load(file)
for start, pid, signum in signals:
    if asked.startswith(start):
        os.kill(pid, signum)
for start, code, out, err in answers:
    if asked.startswith(start):
        sys.stdout.write(out)
        sys.stderr.write(err)
        sys.exit(code)
sys.exit(f"nobody taught this kubectl: {{asked}}")
"""


class FakeCluster:
    """kubectl's answers, by the beginning of its command line."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._answers: list[tuple[str, int, str, str]] = []
        self._signals: list[tuple[str, int, int]] = []
        self.program = folder / "kubectl"
        self.program.write_text(PROGRAM.format(python=sys.executable))
        self.program.chmod(0o755)
        self._save()

    def says(self, start: str, out: Any = "", *, err: str = "", code: int = 0) -> None:
        """Answers command lines with this beginning; later answers take precedence."""
        text = out if isinstance(out, str) else json.dumps(out)
        self._answers.insert(0, (start, code, text, err))
        self._save()

    def refuses(self, start: str, err: str) -> None:
        """Fails command lines with this beginning."""
        self.says(start, err=f"{err}\n", code=1)

    def interrupts(self, start: str, pid: int, signum: int) -> None:
        """Sends a process a signal when a command line has this beginning."""
        self._signals.append((start, pid, int(signum)))
        self._save()

    @property
    def commands(self) -> list[str]:
        """The command lines so far, without their context."""
        return (self._folder / "asked").read_text().splitlines()

    @property
    def applied(self) -> str:
        """The last applied documents, as text."""
        return (self._folder / "applied").read_text()

    @property
    def environ(self) -> dict[str, str]:
        """The environment that selects this kubectl."""
        return {"KUBECTL_BIN": str(self.program)}

    def kubectl(self) -> Kubectl:
        return Kubectl(str(self.program), "kind")

    def _save(self) -> None:
        (self._folder / "answers").write_bytes(marshal.dumps((self._answers, self._signals)))
