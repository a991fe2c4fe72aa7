"""The life of one run on one port base: lock, leftovers, start, watch, stop."""

from __future__ import annotations

import atexit
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from mesh.errors import ComponentDiedError
from mesh.interrupts import Interrupts
from mesh.paths import RunFolder
from mesh.ports import Ports
from mesh.process_record import RunLock, sweep
from mesh.processes import Component, Supervisor, Timing


class Run:
    """A context manager: components run inside of it, and none after it, however it is left.

    Args:
        ports: of the run.
        folder: of the run.
    """

    def __init__(self, ports: Ports, folder: RunFolder) -> None:
        self.ports = ports
        self.folder = folder
        self._interrupts = Interrupts()
        self._lock = RunLock(folder)
        self._supervisor = Supervisor(folder, self._interrupts)

    def port_names(self) -> list[str]:
        """The ports that must be free before the start."""
        raise NotImplementedError

    def components(self) -> Sequence[Component]:
        """What to run."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._interrupts.install()
        # A second way to `_close`, for an exception that comes between `__enter__` and the block.
        atexit.register(self._close)
        try:
            self._lock.acquire()
            ended = sweep(self.folder)
            if ended:
                print(f"Ended what an earlier run left behind: {', '.join(ended)}.", file=sys.stderr)
            self.ports.require_free(self.port_names())
            for log in self.folder.logs.iterdir():
                log.unlink()
            self._supervisor.start(self.components())
            self._interrupts.check()
        except BaseException:
            self._close()
            raise
        self._interrupts.release()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._interrupts.hold()
        self._close()

    @property
    def timings(self) -> list[Timing]:
        """When each component was started and ready, in the order in which they became ready."""
        return list(self._supervisor.timings)

    @property
    def logs(self) -> Path:
        """The folder of the components' logs."""
        return self.folder.logs

    def log(self, component: str) -> Path:
        """The log of a component."""
        return self._supervisor.log(component)

    def check(self) -> None:
        """Check that every component still runs.

        Raises:
            ComponentDiedError: one has ended; names it and tells the end of its log.
        """
        self._supervisor.check()

    def ended(self) -> list[ComponentDiedError]:
        """Every component that should run and has ended."""
        return self._supervisor.ended()

    def pids(self) -> dict[str, list[int]]:
        """Every process of each component, the one that was started first."""
        found: dict[str, list[int]] = {}
        for name, pid in self._supervisor.pids().items():
            found[name] = [pid]
            with contextlib.suppress(psutil.Error):
                found[name] += [child.pid for child in psutil.Process(pid).children(recursive=True)]
        return found

    def kill(self, component: str) -> None:
        """Kill a component with SIGKILL, as a crash would."""
        self._supervisor.kill(component)

    def restart(self, component: str) -> None:
        """Start a component again, after stopping it if it runs, and wait until it is ready.

        Raises:
            StartError: it did not become ready.
        """
        self._supervisor.restart(component)

    def _close(self) -> None:
        self._interrupts.hold()
        atexit.unregister(self._close)
        try:
            killed = self._supervisor.stop()
            if killed:
                print(f"Had to be killed, as they did not stop in time: {', '.join(killed)}.", file=sys.stderr)
        finally:
            self._lock.release()
            self._interrupts.restore()
