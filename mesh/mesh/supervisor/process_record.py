"""The record of the processes that a run has started, so that the next run can clean up after a crash."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

import psutil

from mesh.errors import AlreadyRunningError
from mesh.paths import RunFolder

LEFTOVER_LIMIT_S = 5.0
LOOK_LIMIT_S, LOOK_PAUSE_S = 0.5, 0.02
"""How long to try for a lock that a look at it may hold for a moment, and the pause between attempts, in seconds."""


@dataclass(frozen=True)
class Started:
    """A process; its start (`_start_of`) distinguishes it from a later process with the same pid."""

    component: str
    pid: int
    created: float
    stop_signal: int = signal.SIGTERM

    @classmethod
    def of(cls, component: str, pid: int, stop_signal: int = signal.SIGTERM) -> Started:
        """The record of a running process on this machine."""
        try:
            created = _start_of(psutil.Process(pid))
        except psutil.Error:
            created = 0.0  # the process is gone already; no process matches this time
        return cls(component, pid, created, stop_signal)

    def find(self) -> psutil.Process | None:
        """The process, if it still runs."""
        try:
            process = psutil.Process(self.pid)
            same = abs(_start_of(process) - self.created) < 0.05
            return process if same and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.Error:
            return None


def _start_of(process: psutil.Process) -> float:
    """When a process started, in seconds: on Linux since boot, as its time since the epoch moves with the clock."""
    return process.create_time() - (psutil.boot_time() if psutil.LINUX else 0.0)


def write_record(folder: RunFolder, started: Iterable[Started]) -> None:
    """Replaces the record atomically, so that a crash cannot damage it."""
    write_json(folder.processes, [asdict(item) for item in started])


def write_json(path: Path, data: object) -> None:
    """Writes JSON to a file atomically."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        temporary.write_text(json.dumps(data, indent=2) + "\n")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read_record(folder: RunFolder) -> list[Started]:
    """The record of the last run; empty if that run left no readable record."""
    try:
        return [Started(**item) for item in json.loads(folder.processes.read_text())]
    except (OSError, ValueError, TypeError):
        return []


def sweep(folder: RunFolder) -> list[str]:
    """Ends the processes that a crashed run has left behind, and returns their components.

    Only the holder of the folder's lock may call it.
    """
    left = [item for item in read_record(folder) if item.find() is not None]
    for which in (None, signal.SIGKILL):
        for item in left:
            if (process := item.find()) is not None:
                with contextlib.suppress(psutil.Error):
                    process.send_signal(item.stop_signal if which is None else which)
        limit = time.monotonic() + LEFTOVER_LIMIT_S
        while any(item.find() for item in left) and time.monotonic() < limit:
            time.sleep(0.02)
    folder.processes.unlink(missing_ok=True)
    return [item.component for item in left]


class RunLock:
    """A lock on a port base, held by its run; the kernel releases it when the run ends, even after a crash."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._file: IO[str] | None = None

    def acquire(self) -> None:
        """Takes the lock, and writes this process's id into its file; raises AlreadyRunningError if another has it."""
        file = self._folder.lock.open("a+")
        limit = time.monotonic() + LOOK_LIMIT_S
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if time.monotonic() > limit:
                    file.seek(0)
                    holder = file.read().strip()
                    file.close()
                    raise already_running(self._folder, holder) from error
            time.sleep(LOOK_PAUSE_S)
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        self._file = file

    @property
    def is_held(self) -> bool:
        """Whether this run has the lock."""
        return self._file is not None

    def release(self) -> None:
        """Releases the lock; does nothing if it is not held."""
        if self._file is not None:
            self._file.close()
            self._file = None


def lock_holder(folder: RunFolder) -> int | None:
    """The process that holds the lock of a port base; 0 if the lock file does not name it, None if no process does."""
    try:
        with folder.lock.open("r+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                text = file.read().strip()
                return int(text) if text.isdigit() else 0
    except OSError:
        pass
    return None


def already_running(folder: RunFolder, holder: str) -> AlreadyRunningError:
    """The error for a port base whose lock a process holds."""
    return AlreadyRunningError(
        f"Port base {folder.path.name} already has a run (process {holder or 'unknown'}). "
        "Stop it with `make down`, or choose another base: SHOP_PORT_BASE=… make …"
    )
