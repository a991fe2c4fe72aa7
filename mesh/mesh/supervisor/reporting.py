"""The end of a command: a message and an exit code, without a traceback for user errors."""

from __future__ import annotations

import errno
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from mesh.errors import InputError, MeshError
from mesh.supervisor.early_interrupt import raise_again
from mesh.supervisor.signals import Interrupted, Interrupts

FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130
MAX_SHOWN = 80
"""Maximum length of a command in a message."""
REFUSALS = {errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.EEXIST}
"""Errors of a file system that a user can remedy: it is full, read-only or private, or has a file for a folder."""


@contextmanager
def reported() -> Iterator[None]:
    """Turns an error that the context raises into a message on standard error and an exit code.

    SIGTERM and SIGHUP are errors too, like Ctrl-C: by default, they would end only this process, and not the programs
    that it has started.

    Raises:
        SystemExit: 1 for a failure, 2 for wrong input, 128 + signal when stopped.
    """
    raise_again()
    interrupts = Interrupts()
    interrupts.install()
    try:
        interrupts.release()
        yield
    except InputError as error:
        _exit(f"error: {error}", BAD_INPUT)
    except MeshError as error:
        _exit(f"error: {error}", FAILED)
    except Interrupted as interrupted:
        _exit(f"{interrupted}; nothing was left running.", interrupted.exit_code)
    except KeyboardInterrupt:
        _exit("stopped.", INTERRUPTED)
    except subprocess.TimeoutExpired as error:
        command = shlex.join(map(str, error.cmd))[:MAX_SHOWN]
        _exit(f"error: `{command}` did not end within {error.timeout:.0f} s, and was stopped.", FAILED)
    except OSError as error:
        if error.errno not in REFUSALS:
            raise
        place = f" at {error.filename}" if error.filename else ""
        remedy = "Free some space, allow access or choose another place, then run the command again."
        _exit(f"error: {error.strerror}{place}. {remedy}", FAILED)
    finally:
        interrupts.restore()


def _exit(message: str, code: int) -> None:
    # A message may quote a file, and a terminal would obey its control characters.
    shown = "".join(char if char.isprintable() or char == "\n" else repr(char)[1:-1] for char in message)
    print(shown, file=sys.stderr, flush=True)
    raise SystemExit(code)
