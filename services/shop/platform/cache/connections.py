"""A service's connections to its cache, which may be slow, full or gone at any time.

If a command gets no answer in time, the cache is taken out of use: no request waits for the cache until it answers
again. Entries that could not be removed meanwhile are removed before this process reads from the cache again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TypeAlias

from valkey.asyncio import BlockingConnectionPool, Valkey
from valkey.exceptions import ValkeyError

from shop.platform.telemetry.recorder import CLIENT, SharedAttributes, shared_attributes
from shop.platform.telemetry.tracing import note, sampled_parent

log = logging.getLogger(__name__)

CONNECTIONS = 4
"""Number of connections. Each use takes a fraction of a millisecond, so a few connections serve many requests."""
PAUSE_S = 0.1
"""Pause after a failure, and between attempts to reconnect, in seconds; no command is sent to the cache meanwhile."""
RECONNECT_LIMIT_S = 2.0

NoteCache: TypeAlias = Callable[[int, int, int], None]
Argument: TypeAlias = str | bytes | int
Answer: TypeAlias = int | bytes | Sequence[bytes | None] | None
_FAILURES = (ValkeyError, OSError, TimeoutError)


class CacheConnections:
    """The connections of one process.

    Args:
        url: `valkey://[user]:password@host:port/number`.
        note: Called with the numbers of rows requested from the cache, of hits, and of commands without an answer.
        limit_s: How long a request waits for an answer, and for a connection, in seconds.
    """

    def __init__(self, url: str, note: NoteCache, *, limit_s: float) -> None:
        self.note = note
        self._limit_s = limit_s
        self._in_use = False
        self._owed: set[str] = set()
        self._recovery: asyncio.Task[None] | None = None
        # One time limit covers all that a command does, and nothing is retried.
        self._pool = BlockingConnectionPool.from_url(
            url, max_connections=CONNECTIONS, timeout=None, socket_timeout=None, lib_name=None, lib_version=None
        )
        self._client = Valkey.from_pool(self._pool)

    async def open(self) -> None:
        """Connects to the cache; if that fails, tries repeatedly in the background."""
        try:
            await self._reconnect()
        except _FAILURES as error:
            self._leave(error)
        else:
            self._in_use = True

    async def close(self) -> None:
        if self._recovery is not None:
            self._recovery.cancel()
            with suppress(asyncio.CancelledError):
                await self._recovery
        await self._client.aclose()

    async def ask(self, operation: str, kind: str, *command: Argument) -> Answer:
        """Sends a command to the cache, in a span if the request is traced; `operation` is GET, SET or DEL.

        Returns None if the cache is out of use, or this failure takes it out of use.
        """
        if not self._in_use:
            return None
        parent, start, failure = sampled_parent(), time.time_ns(), None
        try:
            async with asyncio.timeout(self._limit_s):
                return await self._send(*command)
        except _FAILURES as error:
            failure = error
            self.note(0, 0, 1)
            self._leave(error)
            return None
        finally:
            if parent is not None:
                name, attributes = _noted(operation, kind)
                note(name, CLIENT, parent, start, attributes, failure)

    async def remove(self, kind: str, keys: Sequence[str]) -> None:
        """Removes entries, now or, if that fails, before this process reads from the cache again."""
        removed = None
        try:
            removed = await self.ask("DEL", kind, "DEL", *keys)
        finally:
            if removed is None:
                self._owed.update(keys)
                self._leave(None)

    async def _send(self, *command: Argument) -> Answer:
        answer: Answer = await self._client.execute_command(*command)  # type: ignore[no-untyped-call] # the method is untyped
        return answer

    def _leave(self, error: BaseException | None) -> None:
        """Takes the cache out of use, and tries to reach it until it answers again."""
        if self._recovery is not None:
            return
        self._in_use = False
        if error is not None:
            log.warning("the cache does not answer, so reads go to the database: %s", type(error).__name__)
        self._recovery = asyncio.create_task(self._recover())

    async def _recover(self) -> None:
        while not self._in_use:
            await asyncio.sleep(PAUSE_S)
            owed, self._owed = self._owed, set()
            try:
                await self._reconnect()
                if owed:
                    async with asyncio.timeout(RECONNECT_LIMIT_S):
                        await self._send("DEL", *owed)
            except _FAILURES:
                self._owed |= owed
            else:
                self._in_use = not self._owed
        self._recovery = None
        log.info("the cache answers again")

    async def _reconnect(self) -> None:
        """Replaces all connections: after an outage, none of them can be trusted."""
        async with asyncio.timeout(RECONNECT_LIMIT_S):
            await self._pool.disconnect()
            await asyncio.gather(*(self._send("PING") for _ in range(CONNECTIONS)))


@lru_cache
def _noted(operation: str, kind: str) -> tuple[str, SharedAttributes]:
    name = f"{operation} {kind}"
    attributes = {"db.system.name": "valkey", "db.operation.name": operation, "db.query.summary": name}
    return name, shared_attributes(attributes)
