"""Runs steps of set-up, several in parallel, and turns a failure into a message."""

from __future__ import annotations

import errno
import signal
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from types import FrameType
from typing import NoReturn

from provision import audit, docs, environment, golang, graphiql, images, jaeger, prose, router, tools
from provision.errors import SetupError
from provision.paths import TOOLS
from provision.step import say, stop

STEPS: dict[str, Callable[[], int | None]] = {
    "venv": environment.sync,
    "generator": golang.build_generator,
    "jaeger": jaeger.install,
    "graphiql": graphiql.fetch,
    "docs": docs.install,
    "mermaid": docs.fetch_mermaid,
    "federation": router.compose,
    "istio": tools.build_istio,
    "images": images.build,
    "kube-score": tools.KUBE_SCORE.build,
    "toxiproxy": tools.TOXIPROXY.build,
    "prose": prose.check,
    "prose-baseline": prose.lower_baseline,
    "lock": environment.lock,
    "audit-dependencies": audit.audit,
}

STAMPED = {"jaeger", "graphiql", "docs", "mermaid", "istio", "kube-score", "toxiproxy"}
"""Steps whose success is recorded in `.tools/NAME.stamp`, which the Makefile compares with the steps' inputs."""
OPTIONAL = {"graphiql", "mermaid"}
"""Steps that nothing else needs: their failure is only reported."""


def main(names: Sequence[str]) -> int:
    """Runs the steps of these names in parallel, and returns the exit code.

    It is 0, 1 for a failure, 2 for an unknown step, 128 + signal when stopped, or the step's own exit code.
    """
    if not names or not STEPS.keys() >= set(names):
        print(f"error: name one or more of these steps: {', '.join(STEPS)}.", file=sys.stderr)
        return 2
    for which in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(which) is not signal.SIG_IGN:  # nohup ignores SIGHUP
            signal.signal(which, _end)
    try:
        return _run(names[0]) if len(names) == 1 else _run_side_by_side(names)
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
            f"error: {error.strerror}: {error.filename}. Free some space or allow access, then run the command again.",
            file=sys.stderr,
        )
        return 1


def _end(signum: int, _frame: FrameType | None) -> NoReturn:
    signal.signal(signum, signal.SIG_IGN)  # a second signal must not keep steps from ending
    sys.exit(128 + signum)


def _run_side_by_side(names: Sequence[str]) -> int:
    """Runs steps in threads. The first failure ends all other steps, so that its message comes last."""
    with ThreadPoolExecutor(len(names)) as pool:
        try:
            return max(step.result() for step in as_completed([pool.submit(_run, name) for name in names]))
        except BaseException:
            stop()
            raise


def _run(name: str) -> int:
    try:
        code = STEPS[name]() or 0
    except SetupError as error:
        if name not in OPTIONAL:
            raise
        say(f"error: {error}")
        return 0
    if name in STAMPED:
        (TOOLS / f"{name}.stamp").touch()
    return code
