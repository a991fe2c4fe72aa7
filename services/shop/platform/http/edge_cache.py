"""Purges answers from a shared cache in front of the edge, by their keys (`shop.platform.http.caching`).

No request waits for a purge: the cache may be far away. An answer that was read before a change may reach the cache
after the purge, so each key is sent again later. An answer that could not be purged lasts no longer than its max-age.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from shop.platform.process.lifecycle import in_background

log = logging.getLogger(__name__)

ANSWER_LIMIT_S = 5.0
RETRY_S = 0.1
AGAIN_S = (0.5, 6.0)
"""Seconds after which a key is sent again: when most answers in flight have arrived, and when all of them must have."""
MAX_KEYS_AT_ONCE = 100


class EdgeCache:
    """The shop's connection to the cache: a Unix domain socket, which takes `BAN` requests."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._keys: dict[str, None] = {}
        self._waiting = asyncio.Event()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    def take_out(self, keys: Iterable[str]) -> None:
        """Purges the answers with any of these keys, as soon as the cache can be reached, and again later."""
        if once := dict.fromkeys(keys):
            self._add(once)
            for after_s in AGAIN_S:
                asyncio.get_running_loop().call_later(after_s, self._add, once)

    def _add(self, keys: dict[str, None]) -> None:
        self._keys.update(keys)
        self._waiting.set()

    async def run(self) -> None:
        """Sends the keys to purge, until it is cancelled."""
        failing = False
        while True:
            await self._waiting.wait()
            keys = list(self._keys)[:MAX_KEYS_AT_ONCE]
            for key in keys:
                del self._keys[key]
            try:
                async with asyncio.timeout(ANSWER_LIMIT_S):
                    await self._send(keys)
                failing = False
            except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError) as error:
                self.close()
                if not failing:
                    log.warning("the edge cache does not purge: %s; trying again", str(error) or type(error).__name__)
                failing = True
                self._keys = dict.fromkeys(keys) | self._keys
                await asyncio.sleep(RETRY_S)
            if not self._keys:
                self._waiting.clear()

    async def _send(self, keys: list[str]) -> None:
        if self._streams is None:
            self._streams = await asyncio.open_unix_connection(self._path)
        reader, writer = self._streams
        writer.write(f"BAN / HTTP/1.1\r\nHost: edge-cache\r\nSurrogate-Key: {','.join(keys)}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        status = head.split(b" ", 2)[1]
        if status != b"200":
            raise OSError(f"status {status.decode('latin-1')}")

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


@asynccontextmanager
async def edge_cache(path: str | None) -> AsyncIterator[EdgeCache | None]:
    """Opens the connection to the cache for as long as the context lasts; yields None if there is no path."""
    if path is None:
        yield None
        return
    with contextlib.closing(EdgeCache(path)) as cache:
        async with in_background(cache.run()):
            yield cache
