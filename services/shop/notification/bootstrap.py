"""Wires the notification service: database, the order and user services, use cases, watchers, protocols."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from shop.clients.protocol_by_address import connect
from shop.contract.calls import NOTIFICATION, ORDER
from shop.notification.postgres import CHANNEL, PostgresNotifications
from shop.notification.service import NotificationService
from shop.notification.watching import Watchers
from shop.platform.access.owners import apply_owner_rules
from shop.platform.access.streams import Streams
from shop.platform.config import ServiceConfig
from shop.platform.database.listening import listening_to
from shop.platform.database.store import database_url, opened_database
from shop.platform.process.lifecycle import stop_signal
from shop.platform.process.runtime import BARE, Runtime
from shop.platform.serve import Offer, servers
from shop.platform.telemetry.events import EventTraces


@dataclass(frozen=True, slots=True)
class NotificationParts:
    """The parts of the notification service: its use cases, its watchers and the watchers' streams."""

    service: NotificationService
    watchers: Watchers
    streams: Streams


@asynccontextmanager
async def bootstrap(config: ServiceConfig, runtime: Runtime = BARE) -> AsyncIterator[NotificationParts]:
    """Opens what notifications need. Raises the errors of `opened_database`."""
    async with opened_database(config, runtime) as database:
        traces = EventTraces(runtime.spans)
        store = PostgresNotifications(database, traces)
        watchers, streams = Watchers(store, traces), Streams()
        if runtime.meters is not None:
            runtime.meters.gauge("shop.notification.watchers", "Streams that wait for news.", lambda: watchers.count)

        async with (
            connect(config.peers, config.component, config.sockets, runtime) as clients,
            listening_to(
                CHANNEL, database_url(config), lambda user: watchers.wake(None if user is None else int(user))
            ),
        ):
            service = NotificationService(
                store, watchers, streams, apply_owner_rules(ORDER, clients.order), clients.user
            )
            yield NotificationParts(service, watchers, streams)


def offer(service: NotificationService) -> Offer:
    return Offer(NOTIFICATION, service)


async def serve(config: ServiceConfig, runtime: Runtime) -> None:
    async with (
        stop_signal() as stop,
        bootstrap(config, runtime) as parts,
        servers(config, offer(parts.service), runtime),
    ):
        await stop.wait()
        # This comes before the servers wait for calls in flight: streams would not end by themselves.
        parts.streams.close()
