"""A process's accounts: of its spans and what they cost, and of its cache hits, second by second."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path

import orjson

KEPT_S = 7_200
"""Number of the most recent seconds that a cache's account covers: enough for the longest load."""


class SpanAccount:
    """The account of a process, in a file that the program that started the process can read.

    Attributes:
        recorded: Number of spans that have ended.
        exported: Number of spans that the collector has accepted.
        lost: Number of spans that the collector will never get.
        export_cpu_s: CPU seconds that this process spent on encoding spans.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.recorded = 0
        self.exported = 0
        self.lost = 0
        self.export_cpu_s = 0.0

    def write(self, cost_ns: Mapping[str, int] | None = None) -> None:
        """Writes the file, whole or not at all; `cost_ns` has the CPU time of each kind of span, once measured."""
        if self._path is None:
            return
        account = {
            "recorded": self.recorded,
            "exported": self.exported,
            "lost": self.lost,
            "export_cpu_s": self.export_cpu_s,
            "cost_ns": dict(cost_ns or {}),
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        scratch = self._path.with_suffix(".partial")
        scratch.write_bytes(orjson.dumps(account))
        os.replace(scratch, self._path)


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
