"""Listens to PostgreSQL's NOTIFY, over a dedicated connection that is reopened whenever it is lost."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import asyncpg

from shop.platform.process.lifecycle import in_background

log = logging.getLogger(__name__)

CONNECT_TIMEOUT_S = 5.0
AGAIN_S = 0.5
CHECK_EVERY_S = 15.0
CHECK_LIMIT_S = 5.0

FAILURES = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
"""How a connection fails."""
NotifyHandler = Callable[[str | None], None]
"""Takes the payload of a notification; None if notifications may have been missed."""


def listening_to(channel: str, url: str, heard: NotifyHandler) -> AbstractAsyncContextManager[None]:
    """Listens to a channel while the context lasts; `heard` gets each payload, and None once per connection."""
    return in_background(_keep_listening(channel, url, heard))


async def _keep_listening(channel: str, url: str, heard: NotifyHandler) -> None:
    while True:
        try:
            await _listen(channel, url, heard)
        except FAILURES as error:
            log.warning("cannot listen to %s: %s; trying again", channel, type(error).__name__)
        await asyncio.sleep(AGAIN_S)


async def _listen(channel: str, url: str, heard: NotifyHandler) -> None:

    def tell(_connection: object, _process: int, _channel: str, payload: object) -> None:
        heard(str(payload))

    lost = asyncio.Event()

    connection = await asyncpg.connect(url, timeout=CONNECT_TIMEOUT_S, server_settings={"application_name": "shop"})
    try:
        connection.add_termination_listener(lambda _: lost.set())
        await connection.add_listener(channel, tell)
        heard(None)
        while not lost.is_set():
            try:
                async with asyncio.timeout(CHECK_EVERY_S):
                    await lost.wait()
            except TimeoutError:
                # Without this, a server that vanishes silently would never be noticed.
                await connection.execute("SELECT 1", timeout=CHECK_LIMIT_S)
    finally:
        with contextlib.suppress(*FAILURES):
            await connection.close(timeout=CHECK_LIMIT_S)
