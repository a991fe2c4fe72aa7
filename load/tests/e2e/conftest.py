"""A user at a terminal, who runs make, presses Ctrl-C, and checks whether anything still listens."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[3]
BASE = 21000
PORTS = 200
"""Number of ports from `BASE` that no other test and no user uses, so that other programs cannot interfere."""
LIMIT_S = 900
STOPPED_S = 60


@dataclass(frozen=True, slots=True)
class Terminal:
    """A user's terminal; every command gets the same ports."""

    root: Path = ROOT
    results: Path = ROOT / "results"
    make_failed: int = 2
    """Exit code of make if a recipe fails; a command ends with 2 for wrong input, 3 for WRONG figures, or 1."""

    @property
    def _environment(self) -> dict[str, str]:
        return {**os.environ, "SHOP_PORT_BASE": str(BASE), "NO_COLOR": "1", "COLUMNS": "200"}

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Runs a command, and waits until it has ended."""
        return subprocess.run(
            command, cwd=self.root, env=self._environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )

    def make(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run("make", *arguments)

    def bench(self, *arguments: str) -> tuple[dict[str, Any], Path]:
        """Runs a small bench; returns its summary and its folder."""
        done = self.make("profile=smoke", *arguments, "bench")
        folder = self.latest()
        assert folder is not None, done.stderr
        return json.loads((folder / "summary.json").read_text()), folder

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Starts make, so that the test can call `interrupt`, or send a signal to make alone."""
        argv, null, pipe = ["make", *arguments], subprocess.DEVNULL, subprocess.PIPE
        return subprocess.Popen(
            argv, cwd=self.root, env=self._environment, stdout=null, stderr=pipe, text=True, start_new_session=True
        )

    def interrupt(self, running: subprocess.Popen[str], limit_s: float = STOPPED_S) -> None:
        """Sends Ctrl-C to the whole process group, as a terminal does, and waits until the command has ended."""
        os.killpg(running.pid, signal.SIGINT)
        self.await_end(running, limit_s)

    def await_end(self, running: subprocess.Popen[str], limit_s: float = STOPPED_S) -> None:
        """Waits until a command that was asked to stop has ended."""
        _, errors = running.communicate(timeout=limit_s)
        assert running.returncode != 0
        assert "Traceback" not in errors

    def namespace(self) -> str | None:
        """Returns the recorded namespace of a run; the record exists as long as the namespace, or slightly longer."""
        try:
            noted = json.loads((self.root / ".run" / str(BASE) / "namespace.json").read_text())
        except FileNotFoundError:
            return None
        return str(noted["namespace"])

    def latest(self) -> Path | None:
        """Returns the newest run with traces."""
        link = self.results / "latest"
        return link.resolve() if link.exists() else None

    @staticmethod
    def failed_code_gates(summary: dict[str, Any]) -> list[dict[str, Any]]:
        """Returns the failed gates of a run that depend only on the code."""
        return [gate for gate in summary["gates"] if gate["verdict"] == "WRONG"]

    def left_over(self) -> list[str]:
        """Finds processes that listen on the terminal's ports, over TCP or UDP."""
        ports = range(BASE, BASE + PORTS)
        return [
            f"{connection.pid} on {connection.laddr.port}"
            for connection in psutil.net_connections(kind="inet")
            if (connection.status == psutil.CONN_LISTEN or connection.type == socket.SOCK_DGRAM)
            and connection.laddr.port in ports
        ]


@pytest.fixture(scope="session")
def terminal() -> Terminal:
    return Terminal()


@pytest.fixture
def refused(terminal: Terminal) -> Callable[[list[str], str], None]:
    """Checks that make refuses arguments immediately, with a message, and changes nothing."""

    def check(arguments: list[str], message: str) -> None:
        before = sorted(terminal.results.glob("*"))
        done = terminal.make(*arguments)
        assert done.returncode == terminal.make_failed
        assert message in done.stderr
        assert "Traceback" not in done.stderr
        assert sorted(terminal.results.glob("*")) == before
        assert terminal.left_over() == []

    return check
