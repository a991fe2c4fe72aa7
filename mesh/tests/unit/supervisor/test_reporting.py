"""A command ends with a message, and nothing that it has started outlives it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import psutil
import pytest

from mesh.supervisor.reporting import reported

BUILDING = """
from mesh.supervisor.reporting import reported
from provision.step import Step, run
with reported():
    run(Step(title="Sleep of a test", hint="1 min", argv=["sleep", "60"], advice="", quiet=True))
"""


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_build_for_which_a_command_waits(which: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", BUILDING], stderr=subprocess.PIPE, text=True) as command:
        while not (building := psutil.Process(command.pid).children()):
            assert command.poll() is None
            time.sleep(0.02)
        command.send_signal(which)
        _, said = command.communicate(timeout=30)
    assert command.returncode == 128 + which
    assert f"stopped by {which.name}; nothing was left running." in said
    assert not any(one.is_running() for one in building)


def test_a_program_that_takes_too_long_is_named_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="1"), reported():
        subprocess.run(["sleep", "60"], timeout=0.6, check=True)
    assert capsys.readouterr().err == "error: `sleep 60` did not end within 1 s, and was stopped.\n"
