"""The state that a running system writes for other commands, and how these commands stop the system."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil

from mesh.errors import MeshError
from mesh.paths import RunFolder
from mesh.supervisor.process_record import RunLock, lock_holder, read_record, sweep, write_json

STOP_LIMIT_S = 60.0


@dataclass(frozen=True)
class State:
    """The state of a ready run, for `status`.

    Attributes:
        urls: URLs that people open, by the page's name.
        commands: Commands that query the proxies' admin pages, by topic.
        edge: URL at which clients reach the topology.
        since: When the run became ready, in seconds since the epoch.
        ca_certificate: File of the certificate that clients must trust; empty without TLS.
        additions: What switches add to the topology, as lines of text, by the switch.
    """

    topology: str
    switches: dict[str, Any]
    urls: dict[str, str]
    commands: dict[str, str]
    edge: str
    logs: str
    since: float
    ca_certificate: str = ""
    restarts: Mapping[str, int] = field(default_factory=dict)
    additions: Mapping[str, Sequence[str]] = field(default_factory=dict)


def write_state(folder: RunFolder, state: State) -> None:
    """Writes the state of a run that is ready."""
    write_json(folder.state, asdict(state))


def read_state(folder: RunFolder) -> State | None:
    """The state of the ready run on a base; None if no run is ready."""
    if lock_holder(folder) is None:
        return None
    try:
        return State(**json.loads(folder.state.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def component_table(folder: RunFolder) -> list[dict[str, object]]:
    """The components of the run on a base: name, pid, whether it runs, resident memory in MB, number of restarts."""
    state = read_state(folder)
    restarts = {} if state is None else state.restarts
    rows: list[dict[str, object]] = []
    for item in read_record(folder):
        process = item.find()
        rss = 0.0
        if process is not None:
            with contextlib.suppress(psutil.Error):
                rss = process.memory_info().rss / 1e6
        row = {"component": item.component, "pid": item.pid, "running": process is not None, "rss_mb": rss}
        rows.append({**row, "restarts": restarts.get(item.component, 0)})
    return rows


def stop_run(folder: RunFolder) -> list[str]:
    """Stops the run on a base, or ends the processes that a crashed run has left behind; returns their components.

    Raises:
        MeshError: The run did not stop in time, or runs in another container.
    """
    holder = lock_holder(folder)
    if holder is None:
        lock = RunLock(folder)
        lock.acquire()
        try:
            return sweep(folder)
        finally:
            lock.release()
    components = [item.component for item in read_record(folder)]
    if _has_open(folder.lock, holder):
        with contextlib.suppress(ProcessLookupError):
            os.kill(holder, signal.SIGTERM)
    elif lock_holder(folder) == holder:
        raise MeshError(
            f"The run on port base {folder.path.name} is process {holder} of another container, which shares this "
            "checkout; stop it there."
        )
    limit = time.monotonic() + STOP_LIMIT_S
    while lock_holder(folder) is not None:
        if time.monotonic() > limit:
            raise MeshError(f"The run on port base {folder.path.name} (process {holder}) did not stop in time.")
        time.sleep(0.02)
    return components


def _has_open(file: Path, pid: int) -> bool:
    """Whether a process of this machine has a file open: another container's process ids mean other processes here."""
    try:
        return any(Path(one.path).samefile(file) for one in psutil.Process(pid).open_files())
    except (psutil.Error, OSError):
        return False
