"""Progress of long tasks, on standard error: a rewritten line or, without a terminal, a new line every few seconds."""

from __future__ import annotations

import sys
import time

_RENEWED_S, _LINE_S = 0.2, 10.0
_WIDTH = 79


class Progress:
    """Progress as a line on standard error."""

    def __init__(self) -> None:
        self._watched = sys.stderr.isatty()
        self._pause_s = _RENEWED_S if self._watched else _LINE_S
        self._last = time.monotonic()
        self._shown = False

    def __call__(self, text: str) -> None:
        """Shows the progress, if enough time has passed since the last line."""
        now = time.monotonic()
        if now - self._last < self._pause_s:
            return
        self._last, self._shown = now, True
        short = "".join(char if char.isprintable() else "?" for char in text)[:_WIDTH]
        text, end = (f"\r\x1b[K{short}", "") if self._watched else (short, "\n")
        print(text, end=end, file=sys.stderr, flush=True)

    def done(self) -> None:
        """Clears the line."""
        if self._watched and self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
