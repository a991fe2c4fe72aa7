"""A process's account of its cache hits, second by second."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path

import orjson

KEPT_S = 7_200
"""Number of the most recent seconds that the account covers: enough for the longest load."""


class CacheAccount:
    """The account of a process, in a file for the experiment."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._seconds: deque[list[int]] = deque(maxlen=KEPT_S)

    def note(self, asked: int, hits: int, unanswered: int) -> None:
        """Counts rows requested from the cache, rows that it had, and commands that it did not answer in time."""
        now = int(time.time())
        if not self._seconds or self._seconds[-1][0] != now:
            self._seconds.append([now, 0, 0, 0])
        second = self._seconds[-1]
        second[1] += asked
        second[2] += hits
        second[3] += unanswered

    def write(self) -> None:
        """Writes the account's file; call it at the end of the process."""
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_bytes(orjson.dumps(list(self._seconds)))
