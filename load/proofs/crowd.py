"""Runs customers in a thread with an event loop, while the main thread owns the shop; finds missed changes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any


class Crowd:
    """Runs customers while the main thread strikes the shop.

    Args:
        work: The customers' work.
    """

    def __init__(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._work = work
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="customers", daemon=True)
        self._thread.start()

    def wait(self, limit_s: float) -> bool:
        """Waits until the customers have finished.

        Args:
            limit_s: Maximum wait, in seconds.

        Returns:
            Whether they have finished.
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
    """Returns when the first change that a read missed was acknowledged; None if it missed nothing.

    Args:
        acknowledged_s: When each change was acknowledged, in the order of the changes, in seconds.
        seen: Number of changes that the read shows.
        began_s: When the read began, in seconds.
    """
    following = acknowledged_s[seen : seen + 1]
    return following[0] if following and following[0] < began_s else None
