from __future__ import annotations

import os
import subprocess
import sys

from mesh.resting import cpu_seconds


def test_processes_that_have_ended_count_as_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    own = os.times()
    assert cpu_seconds([os.getpid(), ended.pid]) >= own.user + own.system - 0.02
