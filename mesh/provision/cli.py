"""Runs one step of set-up and turns its failure into a message."""

from __future__ import annotations

import errno
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial

from provision import environment, golang, graphiql, images, istio, jaeger, prose, tools
from provision.errors import SetupError
from provision.supply_chain.audit import audit

STEPS: dict[str, Callable[[], int | None]] = {
    "venv": environment.sync,
    "generator": golang.build_generator,
    "jaeger": jaeger.build,
    "jaeger-ui": jaeger.fetch_release,
    "graphiql": graphiql.fetch,
    "istio": istio.build,
    "images": images.build,
    "kube-score": tools.KUBE_SCORE.build,
    "toxiproxy": tools.TOXIPROXY.build,
    "prose": prose.check,
    "prose-baseline": prose.lower_baseline,
    "lock": environment.lock,
    "audit-dependencies": audit,
    "audit-dependencies --json": partial(audit, as_json=True),
}


def main(arguments: Sequence[str]) -> int:
    """Runs the step that the arguments name.

    Returns:
        The exit code: 0, 1 for a failure, 2 for an unknown step, 130 or 143 when stopped, or the step's own.
    """
    step = STEPS.get(" ".join(arguments))
    if step is None:
        print(f"error: name one step: {', '.join(STEPS)}.", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return step() or 0
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
