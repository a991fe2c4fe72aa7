"""Runs one step of the set-up and turns its failure into a message."""

from __future__ import annotations

import errno
import signal
import sys
from collections.abc import Callable, Sequence

from provision import environment, golang, jaeger
from provision.step import SetupError

STEPS: dict[str, Callable[[], None]] = {
    "venv": environment.sync,
    "generator": golang.build_generator,
    "jaeger": jaeger.build,
    "lock": environment.lock,
}


def main(arguments: Sequence[str]) -> int:
    """Run the step that the arguments name.

    Returns:
        The exit code: 0, 1 for a failure, 2 for an unknown step, 130 or 143 when stopped.
    """
    if len(arguments) != 1 or arguments[0] not in STEPS:
        print(f"error: name one step: {', '.join(STEPS)}.", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        STEPS[arguments[0]]()
    except SetupError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped; what is complete stays, the rest is done again next time.", file=sys.stderr)
        return 130
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS):
            raise
        print(f"error: {error.strerror}: {error.filename}. Make room, and run it again.", file=sys.stderr)
        return 1
    return 0
