"""A process's account of its tracing: how many spans it recorded, exported and lost, and what they cost."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import orjson


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
