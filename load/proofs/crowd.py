"""Customers in a thread with an event loop, as the shop's processes belong to the main thread; what they missed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any


class Crowd:
    """Runs customers while the main thread strikes the shop.

    Args:
        work: What they do.
    """

    def __init__(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._work = work
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="customers", daemon=True)
        self._thread.start()

    def wait(self, limit_s: float) -> bool:
        """Waits until they have finished.

        Args:
            limit_s: Longest wait, in seconds.

        Returns:
            Whether they have.
        """
        self._thread.join(limit_s)
        if self._error is not None:
            raise self._error
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            asyncio.run(self._work())
        except BaseException as error:  # handed to the main thread
            self._error = error


def first_missed(acknowledged_s: Sequence[float], seen: int, began_s: float) -> float | None:
    """Returns when the first change was acknowledged that a read should have shown and did not; None for none.

    Args:
        acknowledged_s: When each change was acknowledged, in the order of the changes, in seconds.
        seen: How many of them the read shows.
        began_s: When the read began, in seconds.
    """
    following = acknowledged_s[seen : seen + 1]
    return following[0] if following and following[0] < began_s else None
