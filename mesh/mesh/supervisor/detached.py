"""Leaves a system running after the command that started it has returned."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from mesh.errors import MeshError
from mesh.paths import RunFolder
from mesh.supervisor.child import stop
from mesh.supervisor.process_record import already_running, lock_holder
from mesh.supervisor.running_state import State, read_state
from mesh.supervisor.signals import Interrupts

POLL_S = 0.05


def start_detached(options: Sequence[str], folder: RunFolder) -> State:
    """Starts `python -m mesh up` in a separate session, and waits until the system is ready.

    Raises:
        AlreadyRunningError: Another run has the port base.
        MeshError: The system ended early; its messages have been shown.
        Interrupted: The user asked to stop; the system has been stopped.
    """
    interrupts = Interrupts()
    interrupts.install()
    log = folder.path / "up.log"
    try:
        if (holder := lock_holder(folder)) is not None:
            raise already_running(folder, str(holder))
        folder.state.unlink(missing_ok=True)
        with log.open("wb") as out:
            process = subprocess.Popen(  # noqa: S603 - our own command line
                [sys.executable, "-m", "mesh", "up", *options],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        shown = 0
        try:
            while (state := read_state(folder)) is None:
                shown = _show(log, shown)
                if process.poll() is not None:
                    _show(log, shown)
                    raise MeshError("The system did not start; the messages above say why.")
                interrupts.check()
                time.sleep(POLL_S)
        except BaseException:
            stop(process)
            _show(log, shown)
            raise
        return state
    finally:
        interrupts.restore()


def _show(log: Path, shown: int) -> int:
    new = log.read_bytes()[shown:]
    sys.stderr.write(new.decode(errors="replace"))
    sys.stderr.flush()
    return shown + len(new)
