"""Password hashes by argon2id, computed in threads beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import argon2
from argon2.exceptions import InvalidHashError, VerifyMismatchError

from shop.platform.deadline import remaining
from shop.platform.telemetry.tracing import child_span

T = TypeVar("T")

MEMORY_KIB = 19_456
PASSES = 2
LANES = 1
"""Parameters of argon2id: OWASP's second choice of equal strength (Password Storage Cheat Sheet): 19 MiB, two
passes, one lane."""
THREADS = 2
"""Logins that are checked at once: each thread holds MEMORY_KIB and a core, and further logins wait for one."""


class Argon2Passwords:
    """Hashes and checks passwords in a few threads of its own."""

    def __init__(self) -> None:
        self._argon2 = argon2.PasswordHasher(
            time_cost=PASSES, memory_cost=MEMORY_KIB, parallelism=LANES, type=argon2.Type.ID
        )
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="argon2")
        # The passwords of unknown customers are checked against this hash, so that the answer takes as long.
        self._nobody = self._argon2.hash("nobody has this password")

    async def hash(self, password: str) -> str:
        with child_span("argon2.hash"):
            return await self._in_thread(lambda: self._argon2.hash(password))

    async def verify(self, password_hash: str | None, password: str) -> bool:
        with child_span("argon2.verify"):
            matches = await self._in_thread(lambda: self._matches(password_hash or self._nobody, password))
        return matches and password_hash is not None

    def close(self) -> None:
        """Ends the threads; work that waits for one is dropped."""
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
        async with asyncio.timeout(remaining()):
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
