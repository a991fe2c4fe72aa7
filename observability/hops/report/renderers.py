"""Renders charts in processes of their own: its engine takes one at a time, and a report spends most time on them."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import Any

_PROGRAM = Path(__file__).with_name("renderer.py")
_MOST = 4
"""Each takes half a second and 100 MB to start."""


class Renderers:
    """Processes that render one chart at a time each; they end with this process, however that ends.

    Args:
        count: How many renderers to keep.
    """

    def __init__(self, count: int = min(_MOST, os.cpu_count() or 1)) -> None:
        self.count = count
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="renderer")
        self._idle: SimpleQueue[subprocess.Popen[str]] = SimpleQueue()
        self._processes = ExitStack()
        for _ in range(count):
            self._idle.put(self._processes.enter_context(_started()))
        atexit.register(self.close)

    def render(self, spec: Mapping[str, Any]) -> Future[str]:
        """Begins to render a specification as SVG, or does so when a process has nothing else to do.

        The result raises RuntimeError if the process ended instead; its message is on standard error.
        """
        return self._threads.submit(self._rendered, json.dumps(spec))

    def close(self) -> None:
        """Ends the processes, when what they are at is done."""
        atexit.unregister(self.close)
        self._threads.shutdown()
        self._processes.close()

    def _rendered(self, spec: str) -> str:
        process = self._idle.get()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{spec}\n")
            process.stdin.flush()
            svg = process.stdout.readline()
        finally:
            self._idle.put(process)
        if not svg:
            raise RuntimeError(f"the process that renders charts ended with exit code {process.wait()}")
        return str(json.loads(svg))


def _started() -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-P", str(_PROGRAM)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,  # Ctrl-C in the terminal is this process's to handle
    )
