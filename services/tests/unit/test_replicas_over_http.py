"""The order in which addresses are used, if a service's addresses come from looking up its name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from shop.clients.replicas import Rotation

NAME = "product:18021"
OLD, KEPT, NEW = "127.1.0.1:9", "127.1.0.2:9", "127.1.0.3:9"


class Names:
    """A name server that knows one name.

    Args:
        addresses: The addresses of the name; None while it does not answer.
    """

    def __init__(self, *addresses: str) -> None:
        self.addresses: list[str] | None = list(addresses)
        self.asked: list[tuple[str, int]] = []

    async def look_up(self, host: str, port: int) -> list[str]:
        self.asked.append((host, port))
        if self.addresses is None:
            raise OSError("it does not answer")
        return self.addresses

    async def once_more(self) -> None:
        """Waits until a look-up that begins from now on has had its effect."""
        until = len(self.asked) + 2
        async with asyncio.timeout(10):
            while len(self.asked) < until:  # noqa: ASYNC110 - nothing signals a look-up
                await asyncio.sleep(0.001)


@asynccontextmanager
async def rotating(names: Names, *addresses: str, follow: bool = True) -> AsyncIterator[Rotation]:
    async with aiohttp.ClientSession() as session:
        rotation = Rotation(session, [*addresses], follow=follow, look_up=names.look_up, lookup_pause_s=0.001)
        try:
            yield rotation
        finally:
            await rotation.close()


async def test_requests_go_in_turn_to_the_addresses_that_the_name_has_now() -> None:
    names = Names(OLD, KEPT)
    async with rotating(names, NAME) as rotation:
        assert rotation.next() == NAME, "nobody waits for the first lookup"
        await names.once_more()
        assert sorted(rotation.next() for _ in range(4)) == [OLD, OLD, KEPT, KEPT]
        names.addresses = [KEPT, NEW]
        await names.once_more()
        assert sorted(rotation.next() for _ in range(4)) == [KEPT, KEPT, NEW, NEW]
        names.addresses = None
        await names.once_more()
        assert {rotation.next() for _ in range(4)} == {KEPT, NEW}
        assert set(names.asked) == {("product", 18021)}


async def test_an_address_that_the_name_has_lost_is_not_checked() -> None:
    names = Names(OLD, KEPT)
    async with rotating(names, NAME) as rotation:
        rotation.next()
        await names.once_more()
        # Nothing listens there, so health checks would never end.
        rotation.leave_out(OLD)
        assert {rotation.next() for _ in range(4)} == {KEPT}
        names.addresses = [KEPT, NEW]
        await names.once_more()
        # A request to this address ends only after the name has lost the address.
        rotation.leave_out(OLD)
        names.addresses = [OLD, KEPT]
        await names.once_more()
        assert {rotation.next() for _ in range(4)} == {OLD, KEPT}


@pytest.mark.parametrize(
    ("addresses", "follow"), [([OLD, KEPT], True), ([NAME], False)], ids=["numeric addresses", "a sidecar's names"]
)
async def test_what_needs_no_look_up_is_not_looked_up(addresses: list[str], follow: bool) -> None:
    names = Names(NEW)
    async with rotating(names, *addresses, follow=follow) as rotation:
        assert [rotation.next() for _ in range(4)] == addresses * (4 // len(addresses))
        await asyncio.sleep(0)
        assert names.asked == []
