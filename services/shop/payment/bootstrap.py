"""Wires the payment service: database, bank, use cases, protocols."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from shop.contract.calls import PAYMENT
from shop.payment.bank import SimulatedBank
from shop.payment.memory import MemoryPayments
from shop.payment.postgres import PostgresPayments
from shop.payment.service import PaymentService
from shop.platform.config import ServiceConfig
from shop.platform.database.store import opened_store
from shop.platform.process.runtime import BARE, Runtime
from shop.platform.serve import Protocols, protocols_of, run_servers

EXAMPLE_URL = "postgresql://shop_payment:…@127.0.0.1:18060/shop_trial"


@asynccontextmanager
async def bootstrap(config: ServiceConfig, runtime: Runtime = BARE) -> AsyncIterator[PaymentService]:
    """Opens what payments need and gives their use cases.

    Raises:
        ConfigError: A setting is missing.
        StartError: The database does not answer.
    """
    async with opened_store(config, EXAMPLE_URL, PostgresPayments, MemoryPayments.load, runtime.meters) as store:
        yield PaymentService(store, SimulatedBank(config.bank_delay_ms / 1000))


def protocols(service: PaymentService) -> Protocols:
    """Returns what serves payments over each protocol."""
    return protocols_of(PAYMENT, service)


async def serve(config: ServiceConfig, runtime: Runtime) -> None:
    """Serves payments until the process is told to stop."""
    async with bootstrap(config, runtime) as service:
        await run_servers(config, protocols(service), runtime)
