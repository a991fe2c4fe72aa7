"""Ctrl-C while a program is still importing: nothing has been started, so it may just end, without a traceback."""

from __future__ import annotations

import signal
import threading


def end_quietly() -> None:
    """Let Ctrl-C end the process at once; for the first line of a program, until `raise_again`."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def raise_again() -> None:
    """Let Ctrl-C raise KeyboardInterrupt, as Python has it."""
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
