"""Runs long commands in parallel: shows their progress, keeps their output, ends them when they hang."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from provision.errors import StepError, StoppedError
from provision.paths import LOGS, ROOT

POLL_S = 0.1
QUIET_BEAT_S = 15.0
"""Interval between progress lines if there is no terminal, in seconds."""
TAIL_LINES = 12
NO_ANSWER = re.compile(
    r"timed? ?out|connection (refused|reset|broken)|cannot connect|connect error|dial tcp|no such host"
    r"|name resolution|error sending request|network is unreachable|no route to host|i/o timeout|TLS handshake"
    r"|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT",
    re.IGNORECASE,
)
"""Messages of pip, uv, go and npm when a registry does not answer."""


@dataclass(frozen=True)
class Step:
    """A long-running command.

    Attributes:
        hint: How long it takes, roughly.
        advice: What to do when it fails.
        registry: The registry that it fetches from, named when the network is at fault.
        env: Variables in addition to those of the environment.
        limit_s: The command is ended after this time, in seconds.
        silence_s: The command is ended after this time without output, in seconds; None where silence is normal.
        answer_s: The command is ended if it has written nothing after this time, in seconds; None if silence at the
            start is normal.
        unit: What each output line counts as, such as `packages`; None to show the last line instead of a count.
        total: Approximate number of these units.
        quiet: Whether to hide the command, because it takes only seconds.
    """

    title: str
    hint: str
    argv: Sequence[str]
    advice: str
    registry: str = ""
    cwd: Path = ROOT
    env: Mapping[str, str] = field(default_factory=dict)
    limit_s: float = 1800.0
    silence_s: float | None = None
    answer_s: float | None = None
    unit: str | None = None
    total: int | None = None
    quiet: bool = False

    @property
    def log(self) -> Path:
        """File that keeps the command's output."""
        words = re.findall(r"[a-z0-9]+", _name(self).lower())
        return LOGS / f"{'-'.join(words)}.log"


_stopping = threading.Event()
_terminal = threading.RLock()
_running: dict[str, str] = {}
"""Status lines at the bottom of the terminal, one for each running step."""


def run(step: Step) -> str:
    """Runs a step to its end; returns its standard output and error.

    Raises:
        StepError: The command failed, took too long, or fell silent; the message has the end of its output and the
            advice.
        StoppedError: `stop` was called.
    """
    pause(0)
    step.log.parent.mkdir(parents=True, exist_ok=True)
    if not step.quiet:
        show(step.title, f"{step.title} (about {step.hint}) …")
    began = time.monotonic()
    cause: str | None
    with step.log.open("wb") as out:
        try:
            process = subprocess.Popen(
                step.argv,
                cwd=step.cwd,
                env={**os.environ, **step.env},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            cause = f"{step.argv[0]} cannot be started: {error.strerror}"
            raise StepError(f"{step.title}: {cause}", cause) from error
        try:
            cause = _watch(step, process, began)
        finally:
            _end(process)
    output = step.log.read_text(errors="replace")
    said = output.strip().rpartition("\n")[2] if cause is None else ""
    if cause is None and process.returncode != 0:
        silent = step.registry and NO_ANSWER.search(output)
        cause = f"{step.registry} does not answer" if silent else f"it ended with exit code {process.returncode}"
    if cause is not None:
        message = f"{step.title}: {cause}.\nFrom {step.log}:\n{_cause(output)}\n{step.advice}"
        raise StepError(message, said or cause)
    if not step.quiet:
        say(f"{step.title}: done in {time.monotonic() - began:.0f} s")
    return output


def stop() -> None:
    """Ends all running steps, and prevents new ones."""
    _stopping.set()


def pause(seconds: float) -> None:
    """Waits.

    Raises:
        StoppedError: `stop` was called, before or meanwhile.
    """
    if _stopping.wait(seconds):
        raise StoppedError


def say(line: str) -> None:
    """Prints a line for the user, on standard error."""
    with _terminal:
        _write(f"{_erase()}{line}\n{_draw()}")


def output_of(*argv: str, **variables: str) -> str:
    """The output of a program that answers immediately; empty if it is not there, fails, or takes longer than 20 s.

    The variables are in addition to those of the environment.
    """
    env = {**os.environ, **variables}
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=20, env=env).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def _cause(output: str) -> str:
    """The lines that name the cause: the lines about the network if there are any, else the last lines."""
    lines = output.splitlines()
    about_network = [line for line in lines if NO_ANSWER.search(line)]
    return "\n".join(f"  {line[:300]}" for line in (about_network or lines)[-TAIL_LINES:])


def _watch(step: Step, process: subprocess.Popen[bytes], began: float) -> str | None:
    """Waits until a command ends; returns why it must be ended early, or None if it ends by itself."""
    beat, heard, size = began, began, 0
    try:
        while process.poll() is None:
            pause(POLL_S)
            now = time.monotonic()
            if step.log.stat().st_size != size:
                heard, size = now, step.log.stat().st_size
            if now - began > step.limit_s:
                return f"it took longer than {step.limit_s:.0f} s and was ended"
            if step.answer_s is not None and not size and now - began > step.answer_s:
                return f"{step.registry or 'it'} does not answer within {step.answer_s:g} s"
            if step.silence_s is not None and now - heard > step.silence_s:
                who = step.registry or "it"
                return f"{who} produced no output for {step.silence_s:.0f} s; the step was stopped"
            if now - beat > (1.0 if sys.stderr.isatty() else QUIET_BEAT_S) and not step.quiet:
                beat = now
                show(step.title, f"  … {_name(step)}: {now - began:.0f} s{_progress(step)}")
    finally:
        show(step.title, None)
    return None


def show(title: str, line: str | None) -> None:
    """Shows the progress of a step: in the step's line at the bottom of a terminal, elsewhere as a new line.

    At the step's end, there is no line.
    """
    with _terminal:
        if not sys.stderr.isatty():
            if line is not None:
                _write(f"{line}\n")
            return
        erased = _erase()
        if line is None:
            _running.pop(title, None)
        else:
            _running[title] = line[: shutil.get_terminal_size().columns - 1]
        _write(f"{erased}{_draw()}")


def _erase() -> str:
    """The control codes that erase the running steps' lines from a terminal."""
    return f"\033[{len(_running)}F\033[J" if _running else ""


def _draw() -> str:
    return "".join(f"{line}\n" for line in _running.values())


def _write(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)


def _name(step: Step) -> str:
    """A step's title without the text in brackets."""
    return step.title.partition(" (")[0]


def _progress(step: Step) -> str:
    lines = step.log.read_text(errors="replace").splitlines()
    if not lines:
        return ""
    if step.unit is None:
        return f": {lines[-1].strip()}"
    of = f" of about {step.total}" if step.total else ""
    return f": {len(lines)}{of} {step.unit}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process that still runs, and its children."""
    if process.poll() is not None:
        return
    for which in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, which)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)
            return
