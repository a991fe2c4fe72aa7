"""Runs one step of set-up and turns its failure into a message."""

from __future__ import annotations

import errno
import signal
import sys
from collections.abc import Callable, Sequence

from provision import environment, golang, graphiql, images, istio, jaeger, tools
from provision.errors import SetupError

STEPS: dict[str, Callable[[], None]] = {
    "venv": environment.sync,
    "generator": golang.build_generator,
    "jaeger": jaeger.build,
    "graphiql": graphiql.fetch,
    "istio": istio.build,
    "images": images.build,
    "kube-score": tools.KUBE_SCORE.build,
    "toxiproxy": tools.TOXIPROXY.build,
    "lock": environment.lock,
}


def main(arguments: Sequence[str]) -> int:
    """Runs the step that the arguments name.

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
        print("Stopped. Finished steps are kept; the next set-up does the rest.", file=sys.stderr)
        return 130
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS):
            raise
        print(
            f"error: {error.strerror}: {error.filename}. Make room or allow access, then run the command again.",
            file=sys.stderr,
        )
        return 1
    return 0
