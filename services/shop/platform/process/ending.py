"""Ends the streams of a process that stops, so that whoever reads them goes on elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar

from shop.errors import Unavailable

T = TypeVar("T")


class Ending:
    """The streams of a process, which would otherwise keep it from its end."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Timeout] = set()
        self._ended = False

    def end(self) -> None:
        """Ends all streams, and every later one at once."""
        self._ended = True
        now = asyncio.get_running_loop().time()
        for limit in self._waiting:
            limit.reschedule(now)

    async def until(self, stream: AsyncGenerator[T]) -> AsyncGenerator[T]:
        """Yields what a stream has until it ends, or the process does.

        Raises:
            Unavailable: The process stops.
        """
        async with aclosing(stream):
            while not self._ended:
                try:
                    async with asyncio.timeout(None) as limit:
                        self._waiting.add(limit)
                        try:
                            item = await anext(stream)
                        finally:
                            self._waiting.discard(limit)
                except StopAsyncIteration:
                    return
                except TimeoutError:
                    if self._ended:
                        break
                    raise
                yield item
            raise Unavailable("this process stops; go on behind the last position")
