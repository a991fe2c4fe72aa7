"""Password hashes by argon2id, computed in threads so that the event loop stays free."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import argon2
from argon2.exceptions import InvalidHashError, VerifyMismatchError

from shop.errors import TooManyRequests
from shop.platform.deadline import remaining
from shop.platform.telemetry.tracing import child_span

T = TypeVar("T")

MEMORY_KIB = 19_456
PASSES = 2
LANES = 1
"""Parameters of argon2id: the second of the equally strong choices in OWASP's Password Storage Cheat Sheet: 19 MiB, two
passes, one lane."""
THREADS = 2
"""Number of passwords that are hashed at the same time: each thread uses MEMORY_KIB of memory and a core."""
MAX_WAIT_S = 1.0
"""How long a password may have to wait for a thread, in seconds; if the wait would be longer, it is refused at once."""
WEIGHT = 0.2
"""Weight of the latest hash in the mean time per hash, from which the waiting time is estimated."""


class Argon2Passwords:
    """Hashes and checks passwords in a few threads, with a short queue in front."""

    def __init__(self, max_wait_s: float = MAX_WAIT_S) -> None:
        self._argon2 = argon2.PasswordHasher(
            time_cost=PASSES, memory_cost=MEMORY_KIB, parallelism=LANES, type=argon2.Type.ID
        )
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="argon2")
        self._max_wait_s = max_wait_s
        self._pending: set[Future[Any]] = set()
        began = time.monotonic()
        # Passwords of unknown customers are checked against this hash, so that the answer takes equally long.
        self._nobody = self._argon2.hash("nobody has this password")
        self._mean_s = time.monotonic() - began

    async def hash(self, password: str) -> str:
        with child_span("argon2.hash"):
            return await self._in_thread(lambda: self._argon2.hash(password))

    async def verify(self, password_hash: str | None, password: str) -> bool:
        with child_span("argon2.verify"):
            matches = await self._in_thread(lambda: self._matches(password_hash or self._nobody, password))
        return matches and password_hash is not None

    def close(self) -> None:
        """Ends the threads; work that waits for a thread is dropped."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _matches(self, password_hash: str, password: str) -> bool:
        try:
            return self._argon2.verify(password_hash, password)
        except VerifyMismatchError:
            return False
        except InvalidHashError as error:
            # The error's own text may quote the hash.
            raise ValueError("a stored password hash is not argon2's") from error

    async def _in_thread(self, work: Callable[[], T]) -> T:
        pending = len(self._pending)
        if pending >= THREADS and self._mean_s * pending / THREADS > self._max_wait_s:
            # Not UNAVAILABLE, which would make a proxy eject this instance.
            raise TooManyRequests("too many passwords are being hashed; try again in a second", retry_after_s=1)
        async with asyncio.timeout(remaining()):
            hashing = self._threads.submit(_run_timed, work)
            # Counted until the thread is free, because a hash that has begun continues when its caller has left.
            self._pending.add(hashing)
            hashing.add_done_callback(self._pending.discard)
            result, seconds = await asyncio.wrap_future(hashing)
        self._mean_s += WEIGHT * (seconds - self._mean_s)
        return result


def _run_timed(work: Callable[[], T]) -> tuple[T, float]:
    began = time.monotonic()
    return work(), time.monotonic() - began
