"""One at a time, by name: logins with one e-mail address wait for each other, so that none slips past the count."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from shop.platform.deadline import remaining


@dataclass(slots=True)
class _Queue:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    members: int = 0


class Turns:
    """Turns in this process; holds no more names than are being waited for or worked on."""

    def __init__(self) -> None:
        self._queues: dict[str, _Queue] = {}

    @asynccontextmanager
    async def of(self, name: str) -> AsyncIterator[None]:
        """Waits for the turn of a name, and holds it for as long as the context lasts.

        Args:
            name: Whatever may be worked on once at a time.

        Raises:
            TimeoutError: The caller's time passed before.
        """
        queue = self._queues.setdefault(name, _Queue())
        queue.members += 1
        try:
            async with asyncio.timeout(remaining()):
                await queue.lock.acquire()
            try:
                yield
            finally:
                queue.lock.release()
        finally:
            queue.members -= 1
            if not queue.members:
                del self._queues[name]
