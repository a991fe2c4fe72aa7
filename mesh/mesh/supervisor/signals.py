"""Ctrl-C and SIGTERM, delivered when nothing can be lost."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STOPPING = "Stopping what was started, please wait …\n"


class Interrupted(KeyboardInterrupt):
    """The user, or the machine, asks to stop."""

    def __init__(self, signum: int) -> None:
        super().__init__(f"stopped by {signal.Signals(signum).name}")
        self.signum = signum

    @property
    def exit_code(self) -> int:
        """Exit code of the process: 128 + the signal, as in shells."""
        return 128 + self.signum


class Interrupts:
    """Holds signals back while processes are started or stopped, and otherwise raises them at once.

    A KeyboardInterrupt between a process's start and the record of its pid would leave the process behind. So a held
    signal is only remembered; `check` raises it at safe points.

    A signal raised at once may get lost: Python drops an exception in a weak reference's callback, and some C
    extensions drop exceptions during their import. `check` therefore raises such a signal again.
    """

    def __init__(self) -> None:
        self._before: dict[signal.Signals, Any] = {}
        self._held = True
        self._pending: int | None = None  # a signal that is held back
        self._raised: int | None = None

    def install(self) -> None:
        """Installs the handlers, which hold signals back; does nothing outside of the main thread, where Python allows
        no handlers."""
        if threading.current_thread() is not threading.main_thread():
            return
        for which in SIGNALS:
            # Ignored signals (nohup, a job in the background of a script) stay ignored.
            if signal.getsignal(which) is not signal.SIG_IGN:
                self._before[which] = signal.signal(which, self._on_signal)

    def restore(self) -> None:
        """Restores the earlier signal handlers."""
        for which, handler in self._before.items():
            signal.signal(which, handler)
        self._before.clear()

    def hold(self) -> None:
        """Holds signals back from now on: they are only remembered."""
        self._held = True

    def release(self) -> None:
        """Raises signals from now on, as soon as they arrive, and a signal that has already arrived."""
        self._held = False
        self.check()

    def check(self) -> None:
        """Raises the signal that was held back, or that was raised but got lost, as Interrupted."""
        signum = self._pending or self._raised
        self._pending = self._raised = None
        if signum is not None:
            raise Interrupted(signum)

    @contextmanager
    def defer(self) -> Iterator[None]:
        """Holds signals back for the duration of the context, then raises a signal that arrived meanwhile."""
        before, self._held = self._held, True
        try:
            yield
        finally:
            self._held = before
        if not self._held and self._pending is not None:
            self.check()

    @contextmanager
    def admit(self) -> Iterator[None]:
        """Raises signals at once for the duration of the context, and a signal that arrived before it."""
        before = self._held
        try:
            self.release()
            yield
        finally:
            self._held = before

    def _on_signal(self, signum: int, _frame: FrameType | None) -> None:
        if not self._held:
            self._raised = signum
            raise Interrupted(signum)
        self._pending = signum
        # The terminal may have closed, and then writing fails; `print` also fails inside another `print`.
        with suppress(OSError):
            os.write(2, STOPPING.encode())
