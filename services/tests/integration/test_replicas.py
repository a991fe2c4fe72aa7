"""Several processes of one service: callers use them in turn, and do not notice when one is killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import uuid
from collections.abc import AsyncIterator, Callable

import psutil
import pytest

from mesh.supervisor.readiness import grpc_serving, http_ok
from shop.clients.protocol_by_address import connect
from shop.contract.ports import ProductClient
from shop.money import Money
from shop.values.product import Product

pytestmark = pytest.mark.timeout(120)
READY_S = 30.0
SCHEMES = {"grpc": "grpc", "rest": "http", "graphql": "graphql"}


class Replica:
    """A process of the product service at a separate address.

    Args:
        protocol: The protocol that it serves.
        address: "host:port".
        database_url: URL of the database for the service's role.
    """

    def __init__(self, protocol: str, address: str, database_url: str) -> None:
        self.address = address
        host, _, port = address.rpartition(":")
        self._port = int(port)
        self._ready = grpc_serving(self._port, host) if protocol == "grpc" else http_ok(self._port, "/healthz", host)
        self._env = {
            "PATH": os.environ["PATH"],
            "SHOP_COMPONENT": "product",
            f"SHOP_LISTEN_{protocol.upper()}": address,
            "SHOP_DATABASE_URL": database_url,
            "SHOP_DATABASE_POOL": "2",
        }
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(sys.executable, "-m", "shop.product", env=self._env)
        await self._until(self._ready)
        assert self._process.returncode is None

    async def wait_for_caller(self) -> None:
        process = psutil.Process(self._process.pid)
        await self._until(
            lambda: any(
                (connection.laddr.port, connection.status) == (self._port, psutil.CONN_ESTABLISHED)
                for connection in process.net_connections("tcp")
                if connection.laddr
            )
        )

    async def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            await self._process.wait()

    @staticmethod
    async def _until(check: Callable[[], bool]) -> None:
        async with asyncio.timeout(READY_S):
            while True:
                if await asyncio.to_thread(check):
                    return
                await asyncio.sleep(0.05)


class Readers:
    """Callers that read one product continuously."""

    def __init__(self, product: ProductClient, product_id: int) -> None:
        self._product = product
        self._id = product_id
        self._stop = asyncio.Event()
        self.read = 0
        self.failed: list[Exception] = []

    async def run(self) -> None:
        while not self._stop.is_set():
            try:
                assert (await self._product.get_product(self._id)).id == self._id
            except Exception as error:
                self.failed.append(error)
            self.read += 1

    async def more(self, count: int = 100) -> None:
        until = self.read + count
        while True:
            if self.read >= until:
                return
            await asyncio.sleep(0.01)

    def stop(self) -> None:
        self._stop.set()


@pytest.fixture(params=sorted(SCHEMES))
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextlib.asynccontextmanager
async def replicas(protocol: str, free_address: str, database_url: str) -> AsyncIterator[list[Replica]]:
    _, _, port = free_address.rpartition(":")
    started = [Replica(protocol, f"127.0.{number}.1:{port}", database_url) for number in range(2)]
    try:
        await asyncio.gather(*(replica.start() for replica in started))
        yield started
    finally:
        for replica in started:
            await replica.kill()


async def add(product: ProductClient) -> Product:
    category = f"t-{uuid.uuid4().hex[:12]}"
    return await product.create_product(title="Tea", description="", category=category, price=Money(1, "EUR"), stock=1)


async def test_no_read_fails_when_one_replica_is_killed_and_back(
    protocol: str, role_url: Callable[[str], str], free_address: str
) -> None:
    async with replicas(protocol, free_address, role_url("product")) as both:
        peers = {"product": f"{SCHEMES[protocol]}://{','.join(replica.address for replica in both)}"}
        async with connect(peers, "test") as clients:
            readers = Readers(clients.product, (await add(clients.product)).id)
            async with asyncio.TaskGroup() as group:
                for _ in range(4):
                    group.create_task(readers.run())
                await readers.more()
                for replica in both:
                    await replica.kill()
                    await readers.more()
                    await replica.start()
                    # Once this replica gets calls again, the other replica can be killed.
                    await replica.wait_for_caller()
                    await readers.more()
                readers.stop()
    assert readers.failed == []


async def test_a_write_that_could_not_be_sent_goes_to_another_replica(
    protocol: str, role_url: Callable[[str], str], free_address: str
) -> None:
    _, _, port = free_address.rpartition(":")
    alive = Replica(protocol, f"127.0.1.1:{port}", role_url("product"))
    try:
        await alive.start()
        peers = {"product": f"{SCHEMES[protocol]}://127.0.0.1:{port},{alive.address}"}
        async with connect(peers, "test") as clients:
            assert len({(await add(clients.product)).id for _ in range(8)}) == 8
    finally:
        await alive.kill()
