"""The five services on a seeded database, in this process, over gRPC."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, closing, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import psycopg
import pytest

from served_shop import BOOTSTRAPS, SCHEMES
from shop.clients.protocol_by_address import connect
from shop.contract.ports import Clients
from shop.notification.postgres import PostgresNotifications
from shop.notification.watching import Watchers
from shop.order.relay import Relay
from shop.platform.access.streams import Streams
from shop.platform.config import ServiceConfig
from shop.platform.database.pool import connect_database
from shop.platform.process.lifecycle import in_background
from shop.platform.process.runtime import Runtime
from shop.platform.serve import servers
from shop.values.notification import Notification, Update
from shop.values.order import CheckoutLine, Order

LIMIT_S = 20.0


async def until(condition: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not await condition():  # noqa: ASYNC110 - nothing signals it
            await asyncio.sleep(0.01)


@dataclass
class Shop:
    """The services as this test's clients see them from inside, and their background work."""

    clients: Clients
    watchers: Watchers
    relay: Relay
    streams: Streams
    at: dict[str, str]
    """Addresses of the notification service, by protocol."""
    _peers: dict[str, str]
    _url: str

    def inside(self, protocol: str) -> AbstractAsyncContextManager[Clients]:
        """Opens clients that call the notification service over a protocol."""
        return connect(self._peers | {"notification": f"{SCHEMES[protocol]}://{self.at[protocol]}"}, "test")

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Runs a statement as the database's administrator; returns its rows."""
        with closing(psycopg.connect(self._url, autocommit=True)) as admin:
            cursor = admin.execute(query, values)
            return cursor.fetchall() if cursor.description else []

    async def is_all_delivered(self) -> bool:
        return self.rows("SELECT 1 FROM shop_order.outbox LIMIT 1") == []

    async def buy(self, user: int, key: str = "key") -> Order:
        lines = (CheckoutLine(8_001, 1),)
        return await self.clients.order.checkout(user_id=user, lines=lines, payment_token="tok_ok", idempotency_key=key)

    async def notifications(self, user: int, count: int) -> list[Notification]:
        """Returns a customer's notifications, oldest first, once there are `count` of them."""
        read: list[Notification] = []

        async def all_are() -> bool:
            read[:] = await self.clients.notification.list_notifications(user)
            return len(read) >= count

        await until(all_are)
        return read[::-1]


@pytest.fixture(scope="module")
async def shop(
    shared_trial: Any,
    keys: Any,
    relayed: bool,
    free_addresses: Callable[[], str],
    runtime: Runtime,
) -> AsyncIterator[Shop]:
    async with AsyncExitStack() as stack:
        # The notification and order services call each other: one needs the other's address before it has started.
        at: dict[str, str] = {}
        peers = {"order": f"grpc://{free_addresses()}"}

        async def start(name: str) -> Any:
            anywhere = "127.0.0.1:0" if name == "notification" else None
            config = ServiceConfig(
                component=name,
                listen_rest=anywhere,
                listen_graphql=anywhere,
                listen_grpc=peers.get(name, "grpc://127.0.0.1:0").removeprefix("grpc://"),
                database_url=shared_trial.role_url(name),
                database_pool=4,
                jwt_private_key_file=str(keys.private_file),
                jwt_public_key_file=str(keys.public_file),
                peers=dict(peers),
            )
            started = await stack.enter_async_context(BOOTSTRAPS[name].bootstrap(config, runtime))
            service = getattr(started, "service", started)
            addresses = await stack.enter_async_context(servers(config, BOOTSTRAPS[name].offer(service), runtime))
            peers[name] = f"grpc://{addresses['grpc']}"
            if name == "notification":
                at.update(addresses)
            return started

        for name in ("product", "user", "payment"):
            await start(name)
        notification = await start("notification")
        # Only the database's NOTIFY wakes the relay, so that no test passes because of the relay's own timer.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(BOOTSTRAPS["order"], "Relay", partial(Relay, look_s=3_600))
            order = await start("order")
        await stack.enter_async_context(in_background(order.relay.run()) if relayed else nullcontext())
        clients = await stack.enter_async_context(connect(peers, "test"))
        yield Shop(clients, notification.watchers, order.relay, notification.streams, at, peers, shared_trial.url)


@pytest.fixture
async def store(shared_trial: Any) -> AsyncIterator[PostgresNotifications]:
    """The store of the notification service, over a separate connection."""
    database = await connect_database(shared_trial.role_url("notification"), 1)
    yield PostgresNotifications(database)
    await database.close()


@pytest.fixture(scope="module")
def relayed() -> bool:
    """Whether a relay delivers events; modules whose tests deliver them return False."""
    return True


# Users whom checkouts may change: each test uses a different one.
USERS = iter(range(8_001, 9_901))


@pytest.fixture
def user() -> int:
    return next(USERS)


@pytest.fixture
def other() -> int:
    return next(USERS)


@asynccontextmanager
async def open_stream(updates: Any) -> AsyncIterator[Callable[[], Any]]:
    """Waits until a stream is open; yields a function that reads its next update."""

    async def following() -> Update:
        async with asyncio.timeout(LIMIT_S):
            return await anext(updates)

    try:
        assert (await following()).notification is None
        yield following
    finally:
        await updates.aclose()
