"""How the suites report a program that does not start, end or clean up as it should."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from . import conftest
from .components import COMPONENTS
from .conftest import RunningProgram, run_program

SERVE, STOP = RunningProgram.wait_until_serving, RunningProgram.stop
FAULTS = [
    ("exec sleep 60", SERVE, "did not answer its health check within 0.2 s; it said: nothing"),
    ('echo "in $HOME"; exit 3', SERVE, "ended with exit code 3 instead of serving; it said: in /a/home"),
    ("echo no table >&2; echo progress; exit 3", SERVE, "instead of serving; it said: no table"),
    ("trap '' TERM; echo up; while :; do sleep 0.1; done", STOP, "did not end within 0.2 s of the signal"),
    ("trap 'exit 4' TERM; echo up; while :; do sleep 0.1; done", STOP, "exit code 4 after the signal"),
    ("sleep 60 & trap 'exit 0' TERM; echo up; wait", STOP, "left a process behind: sleep 60; it said: up"),
]


@pytest.mark.parametrize(("script", "step", "said"), FAULTS)
def test_a_misbehaving_program_is_reported_with_its_fault(
    script: str, step: Callable[[RunningProgram], object], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/a/home")
    # On a busy machine, even work that a program is allowed to finish may take long.
    limits = dict.fromkeys(("START_S", "STOP_S"), 0.2 if "within" in said else 60) | {"LEFT_S": 0.2}
    for name, limit_s in limits.items():
        monkeypatch.setattr(conftest, name, limit_s)
    command = ("/bin/sh", "-c", script)
    with run_program(COMPONENTS["product"], command, {}, "127.0.0.1:9", tmp_path / "log") as program:
        if step is STOP:
            while "up" not in program.log.with_suffix(conftest.PRINTED).read_text():
                assert program.process.poll() is None
                time.sleep(0.01)
        with pytest.raises(pytest.fail.Exception, match=f"product .command: /bin/sh -c .*{said}"):
            step(program)
