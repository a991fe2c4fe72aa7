"""Locks by name: logins with one e-mail address wait for each other, so that none slips past the count of failures.

The locks are those of one process. Where there are replicas, each tries one password at a time, and the table that they
share has the last word on the count.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from shop.platform.deadline import remaining


@dataclass(slots=True)
class _Entry:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0


class NamedLocks:
    """Locks of this process, one for each name that is held or waited for at the moment."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[None]:
        """Waits for the lock of a name, and holds it for as long as the context lasts.

        Raises:
            TimeoutError: The caller's time passed before the lock was free.
        """
        entry = self._entries.setdefault(name, _Entry())
        entry.users += 1
        try:
            async with asyncio.timeout(remaining()):
                await entry.lock.acquire()
            try:
                yield
            finally:
                entry.lock.release()
        finally:
            entry.users -= 1
            if not entry.users:
                del self._entries[name]
