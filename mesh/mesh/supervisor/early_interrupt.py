"""Ctrl-C while a program is still importing: nothing has been started, so the program ends without a traceback."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType


def end_quietly() -> None:
    """Lets Ctrl-C end the process at once, until `raise_again` is called; for the first line of a program."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # SIG_DFL would not do: some libraries, such as polars, install a handler that calls the previous one, and
        # SIG_DFL cannot be called.
        signal.signal(signal.SIGINT, _end)


def raise_again() -> None:
    """Lets Ctrl-C raise KeyboardInterrupt, as Python does by default."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(signum: int, _frame: FrameType | None) -> None:
    os._exit(128 + signum)
