"""Wires the payment service: database, bank, use cases, protocols."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from shop.contract.calls import PAYMENT
from shop.payment.bank import SimulatedBank
from shop.payment.ports import PaymentStore
from shop.payment.postgres import PostgresPayments
from shop.payment.service import PaymentService
from shop.platform.config import ServiceConfig
from shop.platform.database.store import OpenStore, in_postgres
from shop.platform.process.runtime import BARE, Runtime
from shop.platform.serve import Offer, run_servers

OPEN_STORE = in_postgres(PostgresPayments)


@asynccontextmanager
async def bootstrap(
    config: ServiceConfig, runtime: Runtime = BARE, open_store: OpenStore[PaymentStore] = OPEN_STORE
) -> AsyncIterator[PaymentService]:
    """Opens what payments need and yields their use cases. Raises the errors of `opened_database`."""
    async with open_store(config, runtime) as store:
        yield PaymentService(store, SimulatedBank(config.bank_delay_ms / 1000))


def offer(service: PaymentService) -> Offer:
    return Offer(PAYMENT, service)


async def serve(config: ServiceConfig, runtime: Runtime, open_store: OpenStore[PaymentStore] = OPEN_STORE) -> None:
    async with bootstrap(config, runtime, open_store) as service:
        await run_servers(config, offer(service), runtime)
