"""Faults of a process: killed and restarted, or stopped for a while."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress

from experiment.faults.strike import LASTS_S, Wait
from mesh.supervisor.run import Run


def kill(struck: Run, target: str, meanwhile: Callable[[], None] = lambda: None) -> None:
    """Kills a component or replica, and restarts it after a call of `meanwhile`."""
    struck.kill(target)
    meanwhile()
    struck.restart(target)


def freeze(struck: Run, target: str, wait: Wait, seconds: float = LASTS_S) -> None:
    """Stops a component or replica (SIGSTOP) for a while."""
    pids = struck.processes()[target]
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        wait(seconds)
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):  # the run may have ended in the meantime
                os.kill(pid, signal.SIGCONT)
