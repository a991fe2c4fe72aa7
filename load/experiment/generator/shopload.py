"""Runs the load generator's commands as processes."""

from __future__ import annotations

import json
import select
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiment.errors import GeneratorError, UsageError
from experiment.plan.closed_loop import ClosedLoop
from mesh.description.switches import SWITCHES
from mesh.paths import SHOPLOAD
from mesh.supervisor.processes import guard

GRACE_S = 60.0
"""Seconds that the generator may take beyond the load itself: to connect, get the last answers and flush its spans."""
DEFAULT_PAYLOAD: str = SWITCHES["payload"].default


@dataclass(frozen=True, slots=True)
class Tape:
    """A tape on disk, identified by its SHA-256."""

    path: Path
    sha256: str
    journeys: int
    seed: int


@dataclass(frozen=True, slots=True)
class Load:
    """A load for the generator.

    Attributes:
        duration_s: Seconds of load; an open loop ends with its tape.
        closed: The closed loop that takes the journeys; None for an open loop, where they start at the tape's times.
        connections: Total number of client connections; 0 for the number in the target file.
        steps: Share of a closed loop's users in each of the load's equally long parts; empty for all users throughout.
    """

    tape: Tape
    duration_s: float
    closed: ClosedLoop | None = None
    connections: int = 0
    steps: tuple[float, ...] = ()

    def __str__(self) -> str:
        how = f"{self.tape.journeys} journeys, open loop" if self.closed is None else str(self.closed)
        return f"{how}, for {self.duration_s:g} s"


@dataclass(frozen=True, slots=True)
class Shopload:
    """The generator's binary."""

    binary: Path

    def tape(
        self,
        workload: Path,
        out: Path,
        *,
        seed: int,
        rate: float,
        duration_s: float,
        scale: int,
        pool: str = "",
        payload: str = DEFAULT_PAYLOAD,
        without: str = "",
        stairs: Sequence[float] = (),
        steps: bool = False,
    ) -> Tape:
        """Makes a tape.

        Args:
            rate: Mean number of journeys per second.
            pool: `parity` for the parameters reserved for the parity check; empty for a load's parameters.
            payload: Size of the documents that journeys read; sizes other than the default need a workload that reads
                documents.
            without: Kind of journey to leave out; other journeys stay unchanged. Empty to leave out none.
            stairs: Rates of equally long steps, as multiples of the rate; empty for the workload's own arrivals.
            steps: Whether the workload file has steps of a target other than the shop.

        Raises:
            UsageError: The workload is invalid; the message comes from the generator.
        """
        arguments = ["tape", "--steps" if steps else "--workload", str(workload), "--out", str(out)]
        arguments += ["--seed", str(seed), "--rate", f"{rate:g}", "--duration", f"{duration_s:g}s"]
        arguments += ["--scale", str(scale)]
        size = "" if payload == DEFAULT_PAYLOAD else payload
        for name, value in (("--pool", pool), ("--payload", size), ("--without", without)):
            arguments += [name, value] if value else []
        arguments += ["--stairs", ",".join(f"{step:g}" for step in stairs)] if stairs else []
        made = json.loads(self._run(arguments, timeout_s=60).splitlines()[-1])
        return Tape(out, made["sha256"], int(made["journeys"]), seed)

    def sample(self, tape: Tape, target: Path, out: Path, *, each: bool = False) -> list[dict[str, Any]]:
        """Sends a tape's journeys, or the first of each kind, one after another; returns their canonical answers."""
        arguments = ["sample", "--tape", str(tape.path), "--target", str(target), "--out", str(out)]
        arguments += ["--each"] if each else []
        self._run(arguments, timeout_s=GRACE_S + 6.0 * tape.journeys)
        return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]

    def warm_up(self, load: Load, target: Path, out: Path) -> None:
        """Sends a load without tracing it or writing rows."""
        self._run([*_replay(load, target, out), "--warmup"], timeout_s=load.duration_s + GRACE_S)

    def start_replay(
        self, load: Load, target: Path, out: Path, *, trace: float, quiet: bool = False
    ) -> subprocess.Popen[bytes]:
        """Starts a replay that writes its rows below `out`, and its progress to this process's standard error.

        The caller waits for the replay's end with `finish_replay`.

        Args:
            trace: Share of journeys to trace, from 0 to 1.
        """
        arguments = [*_replay(load, target, out), "--trace", f"{trace:g}", *(["--quiet"] if quiet else [])]
        return subprocess.Popen(  # noqa: S603 - our own binary
            self._command(arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # the experiment handles Ctrl-C in the terminal
        )

    def finish_replay(self, replay: subprocess.Popen[bytes], left_s: float = 0.0) -> None:
        """Waits for a replay's end, with this many seconds of load left.

        Raises:
            GeneratorError: The replay failed, or the caller must stop it.
        """
        try:
            code = replay.wait(timeout=left_s + GRACE_S)
        except subprocess.TimeoutExpired as error:
            raise GeneratorError(
                f"the replay did not finish within {GRACE_S:g} s of the end of its load; it was stopped"
            ) from error
        if code != 0:
            raise GeneratorError(f"the replay ended with exit code {code}; its message is above")

    def hold(self, tape: Tape, target: Path, connections: int) -> AbstractContextManager[object]:
        """Holds connections open while the context lasts, after a request on each.

        Raises:
            GeneratorError: A connection or a request failed; the generator's message is on standard error.
        """
        arguments = ["hold", "--tape", str(tape.path), "--target", str(target), "--connections", str(connections)]
        late = f"{connections} connections were not open within {GRACE_S:g} s"
        return self._begin(arguments, late, late)

    def watch(
        self,
        tape: Tape,
        target: Path,
        out: Path,
        watchers: int,
        way: str,
        interval_s: float,
        seconds: float,
        channel: str = "web",
    ) -> AbstractContextManager[subprocess.Popen[str]]:
        """Lets customers wait for updates to their orders; all are waiting when the block begins.

        Args:
            tape: Tape whose buyers are the first to wait.
            seconds: How long the customers wait, in seconds.
            channel: Channel of the customers: `web`, `mobile` or `partner`.

        Yields:
            The process, which ends when the time is over; if it still runs when the block ends, it is stopped.

        Raises:
            GeneratorError: Some customers could not begin to wait; the generator's message is on standard error.
        """
        arguments = ["watch", "--tape", str(tape.path), "--target", str(target), "--out", str(out), "--way", way]
        arguments += ["--watchers", str(watchers), "--duration", f"{seconds:g}s", "--channel", channel]
        arguments += ["--interval", f"{interval_s:g}s"] if way == "poll" else []
        late = f"{watchers:,} watchers were not all waiting within {GRACE_S:g} s"
        failed = f"{watchers:,} watchers could not all begin to wait; see the message above"
        return self._begin(arguments, late, failed)

    def merge(self, parts: Sequence[Path], out: Path) -> None:
        """Merges the results of a tape's shards into one result; raises GeneratorError if the shards do not fit."""
        named = (word for part in parts for word in ("--part", str(part)))
        self._run(["merge", "--out", str(out), *named], timeout_s=GRACE_S)

    @contextmanager
    def _begin(self, arguments: Sequence[str], late: str, failed: str) -> Iterator[subprocess.Popen[str]]:
        """Yields a process once it has printed a line; stops the process after the block."""
        process = subprocess.Popen(  # noqa: S603 - our own binary
            self._command(arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            ready, _, _ = select.select([process.stdout], [], [], GRACE_S)
            if not ready:
                raise GeneratorError(late)
            if not process.stdout.readline():
                raise GeneratorError(failed)
            yield process
        finally:
            process.stdin.close()  # ends connections that are held
            stop(process)
            process.stdout.close()

    def _command(self, arguments: Sequence[str]) -> list[str]:
        if not self.binary.is_file():
            raise UsageError(f"the generator is not built at {self.binary}: run `make setup`")
        return guard([str(self.binary), *arguments], signal.SIGKILL)

    def _run(self, arguments: Sequence[str], *, timeout_s: float) -> str:
        try:
            done = subprocess.run(  # noqa: S603 - our own binary
                self._command(arguments), capture_output=True, text=True, timeout=timeout_s, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise GeneratorError(f"shopload {arguments[0]} did not finish within {timeout_s:g} s") from error
        if done.returncode == 2:
            raise UsageError(done.stderr.strip().removeprefix("shopload: "))
        if done.returncode != 0:
            raise GeneratorError(f"shopload {arguments[0]} failed: {done.stderr.strip().removeprefix('shopload: ')}")
        return done.stdout


def _replay(load: Load, target: Path, out: Path) -> list[str]:
    arguments = ["replay", "--tape", str(load.tape.path), "--target", str(target), "--out", str(out)]
    if load.connections:
        arguments += ["--connections", str(load.connections)]
    if load.closed is not None:
        arguments += ["--vus", str(load.closed.vus), "--think", f"{load.closed.think_s:.6f}s"]
        arguments += ["--duration", f"{load.duration_s:g}s"]
        arguments += ["--steps", ",".join(f"{share:g}" for share in load.steps)] if load.steps else []
    return arguments


def stop(process: subprocess.Popen[Any], grace_s: float = 5.0) -> None:
    """Stops a process with SIGTERM, and with SIGKILL if the process still runs after the grace period."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=grace_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout=grace_s)


BINARY = SHOPLOAD
