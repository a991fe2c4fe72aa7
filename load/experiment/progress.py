"""Reports progress to a waiting user."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_HOUR_S = 3600
_CLEARED = "\r\x1b[K"


QUIET_S = 15.0
"""Minimum number of seconds between two lines of a brief log; lines with `keep=True` always appear."""


class Progress:
    """Reports progress on standard error, with the time since the start; if brief, one line or occasional ones."""

    def __init__(self, *, brief: bool = False) -> None:
        self._began = time.monotonic()
        self._title = ""
        self._brief = brief
        self._renews = brief and sys.stderr.isatty()
        self._said_at: float | None = None

    def __call__(self, what: str, *, keep: bool = False) -> None:
        """Reports a step; with `keep`, the line stays on the terminal and in a brief log."""
        title = f"{self._title}: " if self._title else ""
        text = f"[{self._format_elapsed()}] {title}{what}"
        if self._renews and not keep:
            width = shutil.get_terminal_size().columns - 1
            print(f"{_CLEARED}{text[:width]}", end="", file=sys.stderr, flush=True)
            return
        now = time.monotonic()
        if not self._brief or keep or self._said_at is None or now - self._said_at >= QUIET_S:
            self._said_at = now
            print(f"{_CLEARED if self._renews else ''}{text}", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Clears the line of progress on a terminal."""
        if self._renews:
            print(_CLEARED, end="", file=sys.stderr, flush=True)

    @contextmanager
    def within(self, title: str) -> Iterator[None]:
        """Puts a title in front of lines reported inside the block; an empty title adds nothing."""
        before, self._title = self._title, title
        try:
            yield
        finally:
            self._title = before

    def _format_elapsed(self) -> str:
        seconds = time.monotonic() - self._began
        return f"{seconds:5.1f} s" if seconds < 600 else f"{int(seconds) // 60:3d}:{int(seconds) % 60:02d} min"


def minutes(seconds: float) -> str:
    """Formats an estimated duration as a person would say it."""
    if seconds < 90:
        return f"about {max(1, round(seconds / 5)) * 5} s"
    if seconds < 3 * _HOUR_S:
        return f"about {seconds / 60:.0f} min"
    hours = seconds / _HOUR_S
    return f"about {hours:.0f} h" if hours < 72 else f"about {hours / 24:,.0f} days"


def short_path(path: Path) -> str:
    """Formats a path for people: relative to the current folder if the path is inside that folder."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
