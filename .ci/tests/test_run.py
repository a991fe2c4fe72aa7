"""CI leaves nothing running when it is stopped."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.integration
SCRIPT = Path(__file__).parents[1] / "run"
NOT_INSTALLED = ("chromium", "promtool", "varnishd")
"""Programs that the script would otherwise install."""


def test_a_terminated_run_ends_what_its_step_has_started(tmp_path: Path) -> None:
    (tmp_path / ".ci").mkdir()
    script = shutil.copy(SCRIPT, tmp_path / ".ci")
    programs, started = tmp_path / "bin", tmp_path / "started"
    programs.mkdir()
    for name in ("make", *NOT_INSTALLED):
        (programs / name).write_text(f"#!/bin/sh\nsleep 60 & echo $! > {started}.new\nmv {started}.new {started}; wait")
        (programs / name).chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    with subprocess.Popen([script], env=os.environ | {"PATH": path}) as run:
        while not started.exists():
            assert run.poll() is None
            time.sleep(0.02)
        below = psutil.Process(int(started.read_text()))
        run.terminate()
        assert run.wait(timeout=30) == 143
    _, left = psutil.wait_procs([below], timeout=5)
    assert [one for one in left if one.status() != psutil.STATUS_ZOMBIE] == []
