"""The replicas of a service as its callers see them over HTTP: called in turn, and skipped while they do not answer.

gRPC's channels do the same by themselves. aiohttp has no such feature: it keeps using its open connections.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
from collections.abc import Awaitable, Callable, Sequence

import aiohttp

from shop.platform.config import is_ipv4, split_address
from shop.platform.http import health

CHECK_LIMIT_S, CHECK_PAUSE_S = 1.0, 0.25
"""Seconds that one health check may take, and the pause between two checks."""
LOOKUP_PAUSE_S = 5.0
"""Seconds between two look-ups of a name; Envoy uses the same pause."""


async def look_up(host: str, port: int) -> list[str]:
    """Returns "address:port" of each IPv4 address of a name. Raises `OSError` if the name is unknown."""
    answers = await asyncio.get_running_loop().getaddrinfo(host, port, family=socket.AF_INET, type=socket.SOCK_STREAM)
    return sorted({f"{place[0]}:{port}" for *_, place in answers})


class Rotation:
    """Gives out the addresses of one service in turn.

    An address that fails is left out at once, and its health is checked until it answers. A single address is never
    left out. Its host may be a name, as for a cluster's headless service. The replicas are then at the addresses of
    that name, which is looked up repeatedly.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        addresses: Sequence[str],
        *,
        follow: bool = True,
        look_up: Callable[[str, int], Awaitable[list[str]]] = look_up,
        lookup_pause_s: float = LOOKUP_PAUSE_S,
    ) -> None:
        self._session = session
        self._addresses = list(addresses)
        self._turns = itertools.cycle(self._addresses)
        self._left_out: dict[str, asyncio.Task[None]] = {}
        self._look_up, self._lookup_pause_s = look_up, lookup_pause_s
        self._lookups: asyncio.Task[None] | None = None
        host, _ = split_address(addresses[0])
        self.name = addresses[0] if follow and not is_ipv4(host) else None

    @property
    def size(self) -> int:
        return len(self._addresses)

    def next(self) -> str:
        """Returns the next address that is not left out; if all addresses are left out, returns the next one anyway.

        Until a name has been looked up, the name itself serves as the address.
        """
        if self.name and self._lookups is None:
            self._lookups = asyncio.create_task(self._follow(*split_address(self.name)))
        for address in itertools.islice(self._turns, self.size):
            if address not in self._left_out:
                return address
        return next(self._turns)

    def leave_out(self, address: str) -> None:
        """Skips an address until its health check succeeds."""
        if self.size > 1 and address in self._addresses and address not in self._left_out:
            self._left_out[address] = asyncio.create_task(self._until_healthy(address))

    async def close(self) -> None:
        tasks = [*self._left_out.values(), *([self._lookups] if self._lookups else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, host: str, port: int) -> None:
        while True:
            # If a name is briefly unknown, its last known addresses stay in use.
            with contextlib.suppress(OSError):
                addresses = await self._look_up(host, port)
                if addresses != self._addresses:
                    self._addresses, self._turns = addresses, itertools.cycle(addresses)
                    for gone in self._left_out.keys() - set(addresses):
                        self._left_out.pop(gone).cancel()
            await asyncio.sleep(self._lookup_pause_s)

    async def _until_healthy(self, address: str) -> None:
        while not await self._is_healthy(address):  # noqa: ASYNC110 - the event happens outside this process
            await asyncio.sleep(CHECK_PAUSE_S)
        del self._left_out[address]

    async def _is_healthy(self, address: str) -> bool:
        with contextlib.suppress(aiohttp.ClientError, OSError):  # a TimeoutError is an OSError
            async with asyncio.timeout(CHECK_LIMIT_S), self._session.get(f"http://{address}{health.PATH}") as response:
                return response.status == 200
        return False
