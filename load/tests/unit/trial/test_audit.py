"""The audit runs while traces are read, and ends no later than that."""

from __future__ import annotations

import socket
from pathlib import Path

import psutil
import pytest

from experiment.trial.audit import auditing
from mesh.errors import MeshError

ROWS = Path("journeys.jsonl")


def test_a_failed_audit_says_why() -> None:
    with (
        pytest.raises(MeshError, match=r"(?s)the audit failed: audit: .*refused"),
        auditing("postgresql://me:secret@127.0.0.1:9/postgres", "shop_trial", ROWS) as findings,
    ):
        findings()


def test_no_audit_outlives_its_block() -> None:
    running: list[psutil.Process] = []

    def interrupt(url: str) -> None:
        with auditing(url, "shop_trial", ROWS):
            running.extend(one for one in psutil.Process().children() if "dataset" in one.cmdline())
            raise KeyboardInterrupt

    with socket.create_server(("127.0.0.1", 0)) as silent:
        with pytest.raises(KeyboardInterrupt):
            interrupt(f"postgresql://me:secret@127.0.0.1:{silent.getsockname()[1]}/postgres")
        (audit,) = running
        assert not audit.is_running()
