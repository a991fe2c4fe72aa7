"""The replicas of a service as its callers see them over HTTP: asked in turn, and left out while they do not answer.

gRPC's channels do the same by themselves; aiohttp has no such thing.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Sequence

import aiohttp

# One check may take, and the pause between two.
CHECK_LIMIT_S, CHECK_PAUSE_S = 1.0, 0.25


class Rotation:
    """The addresses of one service, in turn.

    An address that fails is left out at once, and asked for its health until it answers. Where there is only one, it is
    never left out.

    Args:
        session: Pool of connections for the checks.
        addresses: "host:port" of each replica.
    """

    def __init__(self, session: aiohttp.ClientSession, addresses: Sequence[str]) -> None:
        self._session = session
        self._turns = itertools.cycle(addresses)
        self._left_out: dict[str, asyncio.Task[None]] = {}
        self.size = len(addresses)

    def next(self) -> str:
        """Returns the address whose turn it is; if all are left out, one of them all the same."""
        for address in itertools.islice(self._turns, self.size):
            if address not in self._left_out:
                return address
        return next(self._turns)

    def leave_out(self, address: str) -> None:
        """Passes an address over until its health check succeeds."""
        if self.size > 1 and address not in self._left_out:
            self._left_out[address] = asyncio.create_task(self._until_healthy(address))

    async def close(self) -> None:
        """Ends the checks that are under way."""
        checks = list(self._left_out.values())
        for check in checks:
            check.cancel()
        await asyncio.gather(*checks, return_exceptions=True)

    async def _until_healthy(self, address: str) -> None:
        while not await self._is_healthy(address):  # noqa: ASYNC110 - what is waited for is outside of this process
            await asyncio.sleep(CHECK_PAUSE_S)
        del self._left_out[address]

    async def _is_healthy(self, address: str) -> bool:
        with contextlib.suppress(aiohttp.ClientError, OSError):  # a TimeoutError is an OSError
            async with (
                asyncio.timeout(CHECK_LIMIT_S),
                self._session.get(f"http://{address}/healthz") as response,
            ):
                return response.status == 200
        return False
