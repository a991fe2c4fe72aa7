"""Several replicas of one service: callers use them in turn, and do not notice when one is killed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from puppet import POT, Puppet, serving
from served_shop import SCHEMES
from shop.clients.protocol_by_address import connect
from shop.contract.ports import Clients
from shop.platform.config import split_address

pytestmark = pytest.mark.parametrize("protocol", ["graphql", "grpc", "rest"])
LIMIT_S = 30.0


class Replica:
    """A puppet behind an address whose connections can be cut, as if the replica's process were killed."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.puppet = Puppet()
        self._links: list[asyncio.StreamWriter] = []

    @contextlib.asynccontextmanager
    async def serving(self, protocol: str) -> AsyncIterator[None]:
        async with serving(protocol, self.puppet) as self._behind:
            await self.start()
            yield
            self.kill()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._pass_on, *split_address(self.address))

    def kill(self) -> None:
        self._server.close()
        for link in self._links:
            link.transport.abort()

    async def more(self, count: int = 100) -> None:
        """Waits until it has been called this number of times more."""
        until = self.puppet.calls + count
        async with asyncio.timeout(LIMIT_S):
            while self.puppet.calls < until:  # noqa: ASYNC110 - nothing signals a call
                await asyncio.sleep(0.01)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, requests = await asyncio.open_connection(*split_address(self._behind))
        self._links += [writer, requests]
        await asyncio.gather(_copy(reader, requests), _copy(answers, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
    writer.close()


@pytest.fixture
def both(free_address: str) -> list[Replica]:
    _, port = split_address(free_address)
    return [Replica(f"127.0.{number}.1:{port}") for number in range(2)]


@contextlib.asynccontextmanager
async def calling(protocol: str, replicas: list[Replica]) -> AsyncIterator[Clients]:
    addresses = ",".join(replica.address for replica in replicas)
    async with connect({"product": f"{SCHEMES[protocol]}://{addresses}"}, "test") as clients:
        yield clients


async def test_no_read_fails_when_one_replica_is_killed_and_back(protocol: str, both: list[Replica]) -> None:
    first, second = both
    done = asyncio.Event()

    async def read(clients: Clients) -> None:
        while not done.is_set():
            assert await clients.product.get_product(1) == POT

    async with first.serving(protocol), second.serving(protocol), calling(protocol, both) as clients:
        readers = [asyncio.create_task(read(clients)) for _ in range(4)]
        for killed, other in ((first, second), (second, first)):
            await killed.more()
            killed.kill()
            await other.more()
            await killed.start()
        await second.more()
        done.set()
        await asyncio.gather(*readers)


async def test_a_write_that_could_not_be_sent_goes_to_another_replica(protocol: str, both: list[Replica]) -> None:
    _, alive = both
    async with alive.serving(protocol), calling(protocol, both) as clients:
        for _ in range(8):
            await clients.product.delete_product(1)
    assert alive.puppet.calls == 8
