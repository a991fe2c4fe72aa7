"""A program that runs while its caller waits, and that ends with its caller."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from mesh.supervisor.signals import Interrupts

STOP_S = 60.0


@contextmanager
def child_process(
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: int | None = None,
    stdout: IO[Any] | None = None,
    stderr: IO[Any] | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a program during the block, and stops it if it still runs at the end of the block.

    Arguments are those of `subprocess.Popen`. Without the block, SIGTERM would end only the caller.

    Raises:
        Interrupted: The user asked to stop; the program has been stopped.
    """
    interrupts = Interrupts()
    interrupts.install()
    try:
        process = subprocess.Popen(command, cwd=cwd, env=env, stdin=stdin, stdout=stdout, stderr=stderr)  # noqa: S603
        try:
            interrupts.release()
            yield process
        finally:
            with interrupts.defer():
                stop(process)
    finally:
        interrupts.restore()


def stop(process: subprocess.Popen[bytes]) -> None:
    """Stops a process with SIGTERM, and with SIGKILL if it still runs after a minute."""
    process.terminate()
    try:
        process.wait(timeout=STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
