"""Wires the order service: database, the services that it calls, sagas, use cases, recovery, protocols."""

from __future__ import annotations

import socket
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass

from shop.clients.protocol_by_address import connect
from shop.contract.calls import ORDER
from shop.contract.ports import Clients
from shop.order.background import Background
from shop.order.backlog import Backlog
from shop.order.ports import OrderStores
from shop.order.postgres_orders import PostgresOrders
from shop.order.postgres_outbox import CHANNEL, PostgresOutbox
from shop.order.postgres_sagas import Driver, PostgresCancellations, PostgresCheckouts
from shop.order.relay import Relay
from shop.order.sagas.cancellation import CancellationSaga
from shop.order.sagas.checkout import CheckoutSaga
from shop.order.sagas.recovery import Recovery
from shop.order.service import OrderService
from shop.platform.config import NOTIFICATION, ServiceConfig
from shop.platform.database.listening import listening_to
from shop.platform.database.pool import connect_database
from shop.platform.database.store import OpenStore, database_url, opened_database
from shop.platform.page_token import DEFAULT_KEY
from shop.platform.process.lifecycle import in_background, stop_signal
from shop.platform.process.runtime import BARE, Runtime
from shop.platform.serve import Offer, listening, servers
from shop.platform.telemetry.events import EventTraces

DRAIN_S = 1.5
"""Seconds that unfinished work gets when the process stops; with the servers' grace period, less than the 5 s that a
stop may take."""


@dataclass(frozen=True, slots=True)
class OrderParts:
    """The parts of the order service; the relay is None where the topology has no notifications."""

    service: OrderService
    recovery: Recovery
    relay: Relay | None = None


@asynccontextmanager
async def in_postgres(config: ServiceConfig, runtime: Runtime) -> AsyncIterator[OrderStores]:
    """Opens the stores in the service's database; raises the errors of `opened_database`."""
    # An unnamed process is identified by the first address that it listens on, which no other process can have.
    instance = config.instance or next(iter(listening(config).values()))
    driver = Driver(f"{socket.gethostname()}/{instance}", str(uuid.uuid4()))
    adds_events = NOTIFICATION in config.peers
    async with opened_database(config, runtime) as database:
        stores = OrderStores(
            PostgresOrders(database, adds_events=adds_events),
            PostgresCheckouts(database, driver, adds_events=adds_events),
            PostgresCancellations(database, driver, adds_events=adds_events),
        )
        async with nullcontext() if runtime.meters is None else in_background(Backlog(database, runtime.meters).run()):
            yield stores


@asynccontextmanager
async def bootstrap(
    config: ServiceConfig, runtime: Runtime = BARE, open_stores: OpenStore[OrderStores] = in_postgres
) -> AsyncIterator[OrderParts]:
    """Opens what orders need, and drains unfinished sagas at the end. Raises the errors of `opened_database`."""
    async with AsyncExitStack() as stack:
        stores = await stack.enter_async_context(open_stores(config, runtime))
        clients = await stack.enter_async_context(connect(config.peers, config.component, config.sockets, runtime))
        product, payment = clients.product, clients.payment
        checkouts = CheckoutSaga(stores.checkouts, stores.orders, product=product, user=clients.user, payment=payment)
        cancellations = CancellationSaga(stores.cancellations, stores.orders, product=product, payment=payment)
        background = Background()
        stack.push_async_callback(background.drain, DRAIN_S)
        service = OrderService(
            stores.orders, checkouts, cancellations, background, page_token_key=config.page_token_key
        )
        relay = await _relay(config, runtime, clients, stack) if NOTIFICATION in config.peers else None
        yield OrderParts(service, Recovery(checkouts, cancellations), relay)


async def _relay(config: ServiceConfig, runtime: Runtime, clients: Clients, stack: AsyncExitStack) -> Relay:
    """Opens what the relay needs, with separate connections: deliveries must not take connections from requests."""
    url = database_url(config)
    # If a crash of the database undoes deletions, those events are delivered again, which does no harm.
    database = await connect_database(
        url, 1, settings={"synchronous_commit": "off"}, name="relay", meters=runtime.meters
    )
    stack.push_async_callback(database.close)
    relay = Relay(PostgresOutbox(database), clients.notification, EventTraces(runtime.spans))
    await stack.enter_async_context(listening_to(CHANNEL, url, relay.wake))
    return relay


def offer(service: OrderService, page_token_key: bytes = DEFAULT_KEY) -> Offer:
    return Offer(ORDER, service, (page_token_key,))


async def serve(config: ServiceConfig, runtime: Runtime, open_stores: OpenStore[OrderStores] = in_postgres) -> None:
    async with (
        stop_signal() as stop,
        bootstrap(config, runtime, open_stores) as parts,
        servers(config, offer(parts.service, config.page_token_key), runtime),
        # This starts last: only the process that listens on the address may take over its predecessor's sagas.
        in_background(parts.recovery.run()),
        nullcontext() if parts.relay is None else in_background(parts.relay.run()),
    ):
        await stop.wait()
