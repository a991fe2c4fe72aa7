"""What is going on, for a person who waits."""

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
"""A brief log has a line at most this often, in seconds; lines that are kept always show."""


class Progress:
    """Says what is going on, with the time since the start, on standard error.

    Args:
        brief: Whether a terminal shows one line that is renewed, and a log a line now and then.
    """

    def __init__(self, *, brief: bool = False) -> None:
        self._began = time.monotonic()
        self._title = ""
        self._brief = brief
        self._renews = brief and sys.stderr.isatty()
        self._said_at: float | None = None

    def __call__(self, what: str, *, keep: bool = False) -> None:
        """Says what is going on.

        Args:
            what: What is going on, in words.
            keep: Whether the line must not be missed.
        """
        title = f"{self._title}: " if self._title else ""
        text = f"[{self._elapsed()}] {title}{what}"
        if self._renews and not keep:
            width = shutil.get_terminal_size().columns - 1
            print(f"{_CLEARED}{text[:width]}", end="", file=sys.stderr, flush=True)
            return
        now = time.monotonic()
        if not self._brief or keep or self._said_at is None or now - self._said_at >= QUIET_S:
            self._said_at = now
            print(f"{_CLEARED if self._renews else ''}{text}", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Clears the line that is renewed."""
        if self._renews:
            print(_CLEARED, end="", file=sys.stderr, flush=True)

    @contextmanager
    def within(self, title: str) -> Iterator[None]:
        """Puts a title in front of what is said inside the block; an empty one puts none."""
        before, self._title = self._title, title
        try:
            yield
        finally:
            self._title = before

    def _elapsed(self) -> str:
        seconds = time.monotonic() - self._began
        return f"{seconds:5.1f} s" if seconds < 600 else f"{int(seconds) // 60:3d}:{int(seconds) % 60:02d} min"


def minutes(seconds: float) -> str:
    """A duration that is only an estimate, as people say it."""
    if seconds < 90:
        return f"about {max(1, round(seconds / 5)) * 5} s"
    if seconds < 3 * _HOUR_S:
        return f"about {seconds / 60:.0f} min"
    hours = seconds / _HOUR_S
    return f"about {hours:.0f} h" if hours < 72 else f"about {hours / 24:,.0f} days"


def shown(path: Path) -> str:
    """A path as a person reads it: from where they are, if it is below."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
