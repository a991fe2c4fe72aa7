"""What `make conformance` says of a program that does not conform."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.integration
LIMIT_S = 300


def test_a_program_that_only_fails_fails_every_test() -> None:
    asked = ["--component", "user", "--command", "/bin/sh -c 'echo no such table >&2; exit 3'", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "experiment", "conformance", *asked],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    laws = json.loads(done.stdout)
    assert {law["verdict"] for law in laws} == {"FAILS"}
    (why, *_) = laws[0]["failed"]
    assert "user (command: /bin/sh -c 'echo no such table >&2; exit 3') ended while it was starting" in why
