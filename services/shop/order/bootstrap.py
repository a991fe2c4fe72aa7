"""Wires the order service: database, the services that it calls, sagas, use cases, recovery, protocols."""

from __future__ import annotations

import socket
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass

from shop.clients.connect import connect
from shop.clients.ports import Clients
from shop.contract.calls import ORDER
from shop.order.background import Background
from shop.order.backlog import Backlog
from shop.order.memory import MemoryTables
from shop.order.postgres_orders import PostgresOrders
from shop.order.postgres_outbox import CHANNEL, SILENCE, PostgresOutbox, Telling
from shop.order.postgres_sagas import Driver, PostgresCancellations, PostgresCheckouts
from shop.order.relay import Relay
from shop.order.sagas.cancellation import CancellationSaga
from shop.order.sagas.checkout import CheckoutSaga
from shop.order.sagas.recovery import Recovery
from shop.order.service import OrderService
from shop.platform.config import NOTIFICATION, ServiceConfig, required
from shop.platform.database.listening import listening_to
from shop.platform.database.pool import Database, connect_database
from shop.platform.database.store import opened_store
from shop.platform.page_token import DEFAULT_KEY
from shop.platform.process.beside import beside
from shop.platform.process.lifecycle import stop_signal
from shop.platform.process.runtime import BARE, Runtime
from shop.platform.serve import Protocols, listening, protocols_of, servers
from shop.platform.telemetry.events import EventTraces

EXAMPLE_URL = "postgresql://shop_order:…@127.0.0.1:18060/shop_trial"
DRAIN_S = 1.5
"""Seconds for work under way at the end; with the server's own grace below the five that a stop may take."""


@dataclass(frozen=True, slots=True)
class OrderParts:
    """The parts of the order service: its use cases, and what runs beside them.

    Attributes:
        service: The use cases.
        recovery: Finishes what others left half done.
        relay: Delivers what is told of orders; None where nobody is told.
    """

    service: OrderService
    recovery: Recovery
    relay: Relay | None = None


@asynccontextmanager
async def bootstrap(config: ServiceConfig, runtime: Runtime = BARE) -> AsyncIterator[OrderParts]:
    """Opens what orders need; at the end, sagas under way get a moment to finish.

    Raises:
        ConfigError: A setting is missing.
        StartError: The database does not answer.
    """
    # A process without a name is told from others by the first address that only it can hold.
    instance = config.instance or next(iter(listening(config).values()))
    driver = Driver(f"{socket.gethostname()}/{instance}", str(uuid.uuid4()))

    told = Telling() if NOTIFICATION in config.peers else SILENCE
    measured: list[Database] = []

    def in_postgres(database: Database) -> tuple[PostgresOrders, PostgresCheckouts, PostgresCancellations]:
        measured.append(database)
        return (
            PostgresOrders(database, told),
            PostgresCheckouts(database, driver, told),
            PostgresCancellations(database, driver, told),
        )

    async with AsyncExitStack() as stack:
        opened = opened_store(config, EXAMPLE_URL, in_postgres, MemoryTables.load, runtime.meters)
        stores = await stack.enter_async_context(opened)
        orders, checkout_store, cancellation_store = stores
        if runtime.meters is not None:
            for database in measured:
                await stack.enter_async_context(beside(Backlog(database, runtime.meters).run()))
        clients = await stack.enter_async_context(connect(config.peers, config.component, config.sockets, runtime))
        checkouts = CheckoutSaga(
            checkout_store, orders, product=clients.product, user=clients.user, payment=clients.payment
        )
        cancellations = CancellationSaga(cancellation_store, orders, product=clients.product, payment=clients.payment)
        background = Background()
        stack.push_async_callback(background.drain, DRAIN_S)
        service = OrderService(orders, checkouts, cancellations, background, page_token_key=config.page_token_key)
        relay = await _relay(config, runtime, clients, stack) if told is not SILENCE else None
        yield OrderParts(service, Recovery(checkouts, cancellations), relay)


async def _relay(config: ServiceConfig, runtime: Runtime, clients: Clients, stack: AsyncExitStack) -> Relay:
    """Opens what the relay needs, connections of its own among it: a delivery keeps no request waiting for one."""
    url = required(config.database_url, "SHOP_DATABASE_URL", EXAMPLE_URL)
    # Deletions that a crash of the database takes back are deliveries made again, which do no harm.
    database = await connect_database(
        url, 1, settings={"synchronous_commit": "off"}, name="relay", meters=runtime.meters
    )
    stack.push_async_callback(database.close)
    relay = Relay(PostgresOutbox(database), clients.notification, EventTraces(runtime.spans))
    await stack.enter_async_context(listening_to(CHANNEL, url, relay.wake))
    return relay


def protocols(service: OrderService, page_token_key: bytes = DEFAULT_KEY) -> Protocols:
    """Returns what serves orders over each protocol."""
    return protocols_of(ORDER, service, page_token_key)


async def serve(config: ServiceConfig, runtime: Runtime) -> None:
    """Serves orders until the process is told to stop."""
    async with (
        stop_signal() as stop,
        bootstrap(config, runtime) as parts,
        servers(config, protocols(parts.service, config.page_token_key), runtime),
        # Last: only the process that holds the address may take over what the one before it left there.
        beside(parts.recovery.run()),
        nullcontext() if parts.relay is None else beside(parts.relay.run()),
    ):
        await stop.wait()
