"""Starts processes, in parallel where they are independent, watches them, and stops all of them."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil

from mesh.errors import ComponentDiedError, StartError
from mesh.paths import RunFolder
from mesh.supervisor.process_record import Started, write_record
from mesh.supervisor.readiness import Check
from mesh.supervisor.signals import Interrupts

ORPHANS_LIMIT_S = 5.0
"""How long the children of a killed component may take to end, in seconds."""
POLL_S = 0.01
TAIL_LINES = 15
STORE_RANK = 9
"""The stop rank of data stores: they stop after their writers."""
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH")
"""Variables of the user's environment that components get. Others are left out: proxy settings (gRPC would call
127.0.0.1 through a proxy) and OTEL_* settings would change the measurement."""


@dataclass(frozen=True)
class Component:
    """A process to run or, without a readiness check, a task that must succeed.

    Attributes:
        name: Name of the process, and of its log.
        env: Variables in addition to those of `PASSED_ON`.
        ready: Checks whether the process answers; None for a task, which is ready once it has exited with 0.
        after: Components that must be ready before this component starts.
        imports_meanwhile: Whether the process starts at once, does its imports, and then waits for the end of its
            standard input, which closes when the components of `after` are ready.
        stop_rank: Components of the lowest rank are stopped first, components of one rank together.
        stop_limit_s: How long it may take to stop before it is killed, in seconds.
        death_signal: Signal that it gets when its supervisor is killed.
        echo: Whether the user sees a task's progress (its standard error).
        replica_of: The component that this component is a further replica of, and to which its resources are added;
            empty for none.
        when_lost: What happens to a measured run when the component dies. With `end`, the run ends. Otherwise the run
            continues, because other components need this component for changes only; the component is started again
            (`restart`) or not (`leave`).
        successor: Gives the command line of its next process. That process takes over the listeners of the current
            process, and ends the current process once it answers; None if the component cannot do that.
        renew_signal: Signal on which new children take over in the same way; None if the component cannot do that.
        command: The user's command for the component, for messages; empty for a program of the project.
    """

    name: str
    argv: Callable[[], Sequence[str]]
    env: Mapping[str, str] = field(default_factory=dict)
    ready: Check | None = None
    after: frozenset[str] = frozenset()
    imports_meanwhile: bool = False
    stop_rank: int = 0
    start_limit_s: float = 30.0
    stop_limit_s: float = 10.0
    stop_signal: signal.Signals = signal.SIGTERM
    death_signal: signal.Signals = signal.SIGKILL
    echo: bool = False
    replica_of: str = ""
    when_lost: str = "end"
    successor: Callable[[], Sequence[str]] | None = None
    renew_signal: signal.Signals | None = None
    command: str = ""

    @property
    def display_name(self) -> str:
        """The name in messages."""
        return f"{self.name} (command: {self.command})" if self.command else self.name


class Supervisor:
    """Runs components. It must be used from one thread that outlives them: on Linux, a process gets its death signal
    when the thread that started the process ends.
    """

    def __init__(self, folder: RunFolder, interrupts: Interrupts) -> None:
        self._folder = folder
        self._interrupts = interrupts
        self._running: dict[str, _Running] = {}
        self._components: dict[str, Component] = {}
        self._done: set[str] = set()

    def start(self, components: Iterable[Component]) -> None:
        """Starts components, each as soon as the components of its `after` are ready, and waits until all are ready.

        Raises:
            StartError: A component ended, or was not ready in time; the message has the end of its log.
            Interrupted: The user asked to stop.
        """
        waiting = {component.name: component for component in components}
        starting: dict[str, _Running] = {}
        while waiting or starting:
            for name in [n for n, item in waiting.items() if item.imports_meanwhile or item.after <= self._done]:
                starting[name] = self._spawn(waiting.pop(name))
            for running in starting.values():
                if running.is_held and running.component.after <= self._done:
                    running.let_go()
            held = [name for name, running in starting.items() if running.is_held]
            if len(held) == len(starting):
                raise StartError(
                    f"{', '.join([*held, *waiting])} cannot start: at least one component that must start first is not "
                    "part of this topology."
                )
            for name in [name for name, running in starting.items() if running.is_ready()]:
                self._note_ready(starting.pop(name))
            self._interrupts.check()
            self._require_alive(starting)
            time.sleep(POLL_S)

    def find_dead(self) -> list[ComponentDiedError]:
        """An error for every component that should run but has ended, with the end of its log."""
        return [
            ComponentDiedError(
                name,
                f"{running.component.display_name} exited during the run, {_ending(code)}.\n{running.log_end()}",
                running.component.when_lost,
            )
            for name, running in self._running.items()
            if (code := running.process.poll()) is not None
        ]

    def kill(self, name: str) -> None:
        """Kills a component with SIGKILL, as a crash would."""
        running = self._running.pop(name)
        is_alive = running.process.poll() is None
        children = psutil.Process(running.process.pid).children(recursive=True) if is_alive else []
        left = [Started.of(name, child.pid) for child in children]
        running.signal(signal.SIGKILL)
        running.process.wait()
        # The component's children end once they notice. Until then, they may hold resources that the next start needs:
        # PostgreSQL's processes hold its shared memory. A process that has ended holds nothing, even before init reaps
        # it.
        give_up_at = time.monotonic() + ORPHANS_LIMIT_S
        while any(process.find() for process in left) and time.monotonic() < give_up_at:
            time.sleep(POLL_S)
        self._record()

    def restart(self, name: str) -> None:
        """Stops a component if it runs, starts it again, and waits until it is ready; raises a StartError if not."""
        with self._interrupts.defer():
            if name in self._running:
                self._stop([self._running[name]])
            self.start([self._components[name]])

    def hand_over(self, name: str) -> None:
        """Starts a component's next process, or new children; waits until they are ready and the old processes ended.

        A component that cannot do that, or has ended, is restarted.

        Raises:
            StartError: The new processes did not become ready, or the old processes did not end.
        """
        running, component = self._running.get(name), self._components[name]
        ready = component.ready
        if running is None or ready is None or running.process.poll() is not None:
            self.restart(name)
        elif component.renew_signal is not None:
            self._renew(running, component.renew_signal, ready)
        elif component.successor is not None:
            self._replace(running, component.successor, ready)
        else:
            self.restart(name)

    def _replace(self, running: _Running, successor: Callable[[], Sequence[str]], ready: Check) -> None:
        component, name = running.component, running.component.name
        other = replace(component, name=f"{name}-before", replica_of=component.replica_of or name)
        before = replace(running, component=other)
        with self._interrupts.defer():
            self._running[other.name] = before
            # Until the old process has ended, it may answer instead of the next process.
            alone = before.process.poll
            self.start([replace(component, argv=successor, ready=lambda: alone() is not None and ready())])
            self._stop([before])
            self._components[name] = self._running[name].component = component

    def _renew(self, running: _Running, asked: signal.Signals, ready: Check) -> None:
        before = psutil.Process(running.process.pid).children()
        give_up_at = time.monotonic() + running.component.start_limit_s
        running.signal(asked)
        while any(process.is_running() for process in before) or not ready():
            if time.monotonic() > give_up_at:
                raise StartError(f"{running.component.display_name} did not renew its processes.\n{running.log_end()}")
            time.sleep(POLL_S)

    def stop(self, ranks: Container[int] | None = None) -> list[str]:
        """Stops components, of these stop ranks or all, and returns the components that had to be killed."""
        killed: list[str] = []
        running_ranks = {running.component.stop_rank for running in self._running.values()}
        for rank in sorted(rank for rank in running_ranks if ranks is None or rank in ranks):
            killed += self._stop([r for r in self._running.values() if r.component.stop_rank == rank])
        return killed

    def pids(self) -> dict[str, int]:
        """The process id of each running component or replica, by its name."""
        return {name: running.process.pid for name, running in self._running.items()}

    def pids_by_component(self) -> dict[str, list[int]]:
        """The processes of each component that runs: one, or one for each of its replicas."""
        pids: dict[str, list[int]] = {}
        for name, running in list(self._running.items()):  # called from other threads too
            pids.setdefault(running.component.replica_of or name, []).append(running.process.pid)
        return pids

    def _spawn(self, component: Component) -> _Running:
        again = component.name in self._components
        log = self._folder.logs / f"{component.name}.log"
        argv = guard(component.argv(), component.death_signal)
        with log.open("ab" if again else "wb") as err:
            try:
                process = subprocess.Popen(  # noqa: S603 - the command lines are our own
                    argv,
                    env={**{name: os.environ[name] for name in PASSED_ON if name in os.environ}, **component.env},
                    stdin=subprocess.PIPE if component.imports_meanwhile else subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL if component.ready is None else err,
                    stderr=err,
                    start_new_session=True,  # Ctrl-C in the terminal is the supervisor's to handle
                )
            except OSError as error:
                raise StartError(f"{component.display_name}: {argv[0]} cannot be started: {error.strerror}") from error
        started = Started.of(component.name, process.pid, component.stop_signal)
        running = _Running(component, process, started, log, time.monotonic())
        self._running[component.name] = running
        self._components[component.name] = component
        self._record()
        return running

    def _note_ready(self, running: _Running) -> None:
        component = running.component
        self._done.add(component.name)
        if component.ready is None:
            del self._running[component.name]
            self._record()
            running.show_progress()

    def _require_alive(self, starting: Mapping[str, _Running]) -> None:
        for running in starting.values():
            code, name = running.process.poll(), running.component.display_name
            if code is not None and not (code == 0 and running.component.ready is None):
                raise StartError(f"{name} ended while it was starting, {_ending(code)}.\n{running.log_end()}")
            limit = running.component.start_limit_s
            if not running.is_held and time.monotonic() - running.began > limit:
                raise StartError(f"{name} was not ready within {limit:g} s.\n{running.log_end()}")

    def _stop(self, these: Sequence[_Running]) -> list[str]:
        for running in these:
            running.signal(running.component.stop_signal)
        began = time.monotonic()
        left = list(these)
        killed: list[str] = []
        while left:
            waited = time.monotonic() - began
            for running in [r for r in left if r.process.poll() is None and waited > r.component.stop_limit_s]:
                killed.append(running.component.name)
                running.signal(signal.SIGKILL)
                running.process.wait()
            left = [r for r in left if r.process.poll() is None]
            if left:
                time.sleep(POLL_S)
        for running in these:
            running.sweep_group()
            del self._running[running.component.name]
        # On a full disk, the old record stays; the other components must be stopped nevertheless.
        with contextlib.suppress(OSError):
            self._record()
        return killed

    def _record(self) -> None:
        write_record(self._folder, [running.started for running in self._running.values()])


@dataclass
class _Running:
    component: Component
    process: subprocess.Popen[bytes]
    started: Started
    log: Path
    began: float
    shown: int = 0

    @property
    def is_held(self) -> bool:
        stdin = self.process.stdin
        return stdin is not None and not stdin.closed

    def let_go(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.began = time.monotonic()

    def is_ready(self) -> bool:
        self.show_progress()
        if self.is_held:
            return False
        if self.component.ready is None:
            return self.process.poll() == 0
        # A process that has ended is not ready, even if its port answers: another process has the port.
        return self.component.ready() and self.process.poll() is None

    def show_progress(self) -> None:
        if not self.component.echo:
            return
        with self.log.open("rb") as file:
            file.seek(self.shown)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self.shown += len(whole)
        sys.stderr.write(whole.decode(errors="replace"))
        sys.stderr.flush()

    def signal(self, which: signal.Signals) -> None:
        # A stop signal goes to the process only: it knows how to end its own children.
        with contextlib.suppress(ProcessLookupError):
            if which is signal.SIGKILL:
                os.killpg(self.process.pid, which)
            else:
                self.process.send_signal(which)

    def sweep_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        if self.process.stdin is not None:
            self.process.stdin.close()

    def log_end(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
        shown = "\n".join(f"  {line}" for line in lines) or "  (empty)"
        return f"End of {self.log}:\n{shown}"


def guard(argv: Sequence[str], death_signal: signal.Signals) -> list[str]:
    """A command line whose process gets a signal when its parent dies, if the machine supports that. Otherwise the next
    start ends leftover processes."""
    setpriv = death_signals()
    if setpriv is None:
        return list(argv)
    flag = ["--pdeathsig", death_signal.name.removeprefix("SIG")]
    # If it already changes users, one call must do both, because a change of users clears the signal.
    return [setpriv, *flag, *(argv[1:] if argv[0] == setpriv else argv)]


@functools.cache
def death_signals() -> str | None:
    """The path of a `setpriv` that can set a death signal (not every version can); None if there is no such program."""
    setpriv = shutil.which("setpriv") if sys.platform.startswith("linux") else None
    if setpriv is None:
        return None
    probe = [setpriv, "--pdeathsig", "KILL", "true"]
    result = subprocess.run(probe, capture_output=True, check=False, timeout=10)  # noqa: S603 - our own command line
    return setpriv if result.returncode == 0 else None


def _ending(code: int) -> str:
    return f"with exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"
