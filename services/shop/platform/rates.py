"""Limits how often each of many callers may do something."""

from __future__ import annotations

import math
import time

from shop.errors import TooManyRequests

MAX_KEYS = 100_000
"""Maximum number of keys; a further key evicts the oldest."""


class Rates:
    """Counts events by key: each key may have a burst of events at once, and as many again in the course of a window.

    The algorithm is GCRA.
    """

    def __init__(self, window_s: float) -> None:
        self._window_s = window_s
        # The time when a key has its whole burst again; a key with a new event moves to the end.
        self._whole_at: dict[str, float] = {}

    def count_spent(self, key: str, burst: int) -> float:
        """Returns how many events of a key's burst are used up and not yet regained."""
        now = time.monotonic()
        return max(0.0, self._whole_at.get(key, now) - now) / self._window_s * burst

    def check(self, key: str, burst: int, refusal: str) -> None:
        """Raises `TooManyRequests`, with the refusal and the time to wait, if a key must wait for its next event."""
        missing = self.count_spent(key, burst) - burst + 1
        if missing > 0:
            wait_s = math.ceil(missing * self._window_s / burst)
            raise TooManyRequests(f"{refusal}; try again in {wait_s} s", retry_after_s=wait_s)

    def count(self, key: str, burst: int) -> None:
        now = time.monotonic()
        whole_at = max(self._whole_at.pop(key, now), now) + self._window_s / burst
        # Concurrent events may exceed the burst, but do not lock a key out for long.
        self._whole_at[key] = min(whole_at, now + 2 * self._window_s)
        while (oldest := next(iter(self._whole_at))) != key:
            if self._whole_at[oldest] > now and len(self._whole_at) <= MAX_KEYS:
                break
            del self._whole_at[oldest]
