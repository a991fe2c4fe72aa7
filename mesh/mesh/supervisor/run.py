"""The life of one run on one port base: lock, leftovers, start, watch, stop."""

from __future__ import annotations

import atexit
import contextlib
import shutil
import sys
from collections.abc import Callable, Container, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from mesh.description.ports import Ports
from mesh.errors import ComponentDiedError
from mesh.paths import RunFolder
from mesh.supervisor.process_record import RunLock, sweep
from mesh.supervisor.processes import Component, Supervisor
from mesh.supervisor.restarts import Restarts
from mesh.supervisor.signals import Interrupts


class Run:
    """A context manager: components run inside it, and no component is left running, for whichever reason it ends."""

    def __init__(
        self,
        ports: Ports,
        folder: RunFolder,
        port_names: Sequence[str] = (),
        components: Callable[[], Sequence[Component]] = tuple,
    ) -> None:
        self.ports = ports
        self.folder = folder
        self._port_names = port_names
        self._components = components
        self.interrupts = Interrupts()
        self._lock = RunLock(folder)
        self._supervisor = Supervisor(folder, self.interrupts)
        self._spared = Restarts(self, lambda what: print(what, file=sys.stderr, flush=True), every=False)

    def port_names(self) -> Sequence[str]:
        """Names of the ports that must be free before the start."""
        return self._port_names

    def require_free(self) -> None:
        """Raises a PortError if something else listens on the run's ports."""
        self.ports.require_free(self.port_names())

    def components(self) -> Sequence[Component]:
        """The components to run; called once the lock is held."""
        return self._components()

    def tidy(self) -> None:
        """Removes files that only running components need; called once all have stopped, if the run had its lock."""

    def __enter__(self) -> Self:
        self.interrupts.install()
        # A second path to `_close`, for an exception between `__enter__` and the body of the `with` statement.
        atexit.register(self._close)
        try:
            self._lock.acquire()
            if ended := sweep(self.folder):
                print(f"Stopped processes that an earlier run left behind: {', '.join(ended)}.", file=sys.stderr)
            self.require_free()
            for log in self.folder.logs.iterdir():
                log.unlink()
            shutil.rmtree(self.folder.telemetry, ignore_errors=True)
            self.folder.fresh_sockets()
            self._supervisor.start(self.components())
            self.interrupts.release()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.interrupts.hold()
        self._close()
        if kind is None:
            self.interrupts.check()

    @property
    def logs(self) -> Path:
        """The folder of the components' logs."""
        return self.folder.logs

    def check(self) -> None:
        """Checks that every component still runs and that nobody has asked to stop.

        A component that is not required is started again, unless it should stay down; a message about this goes to
        standard error.

        Raises:
            ComponentDiedError: A required component has ended; the message names it and has the end of its log.
            Interrupted: The user has asked to stop, at a moment when Python dropped the exception.
        """
        self.interrupts.check()
        self._spared.look()

    def find_dead(self) -> list[ComponentDiedError]:
        return self._supervisor.find_dead()

    def pids(self) -> dict[str, list[int]]:
        """Every process of each component: its replicas first, then their children."""
        return {name: _with_children(pids) for name, pids in self._supervisor.pids_by_component().items()}

    def processes(self) -> dict[str, list[int]]:
        """The running processes by replica: each replica's process, then its children."""
        return {name: _with_children([pid]) for name, pid in self._supervisor.pids().items()}

    def kill(self, component: str) -> None:
        """Kills a component with SIGKILL, as a crash would."""
        self._supervisor.kill(component)

    def restart(self, component: str) -> None:
        self._supervisor.restart(component)

    def hand_over(self, component: str) -> None:
        """Replaces a component's process, or its children, as `Supervisor.hand_over`."""
        self._supervisor.hand_over(component)

    def stop_ranks(self, ranks: Container[int]) -> None:
        """Stops the components of these stop ranks, as the end of the run would."""
        with self.interrupts.defer():
            self._stop(ranks)

    def _stop(self, ranks: Container[int] | None = None) -> None:
        if killed := self._supervisor.stop(ranks):
            print(f"These components did not stop in time and were killed: {', '.join(killed)}.", file=sys.stderr)

    def _close(self) -> None:
        self.interrupts.hold()
        atexit.unregister(self._close)
        # Each step is taken even if an earlier one fails; the last callback is called first.
        with contextlib.ExitStack() as steps:
            steps.callback(self.interrupts.restore)
            steps.callback(self._lock.release)
            if self._lock.is_held:
                steps.callback(self.folder.remove_sockets)
                steps.callback(self.tidy)
            self._stop()


def _with_children(heads: Sequence[int]) -> list[int]:
    pids = list(heads)
    for pid in heads:
        with contextlib.suppress(psutil.Error):
            pids += [child.pid for child in psutil.Process(pid).children(recursive=True)]
    return pids
