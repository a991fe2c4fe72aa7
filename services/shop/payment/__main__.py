"""Runs the payment service: `python -m shop.payment`, told by its environment where to listen and what to use."""

from __future__ import annotations

import os
import sys
from contextlib import AsyncExitStack

from shop.payment.bank import SimulatedBank
from shop.payment.grpc import add_payment_service
from shop.payment.postgres import PostgresPayments
from shop.payment.service import PaymentService
from shop.platform.config import ServiceConfig, required
from shop.platform.database import connect_database
from shop.platform.grpc_server import serve_grpc
from shop.platform.lifecycle import launch

EXAMPLE_URL = "postgresql://shop_payment:shop_payment@127.0.0.1:18060/shop_trial"


async def serve(config: ServiceConfig) -> None:
    """Wires the service and serves it until it is told to stop.

    Args:
        config: The settings of this process.

    Raises:
        ConfigError: A setting that it needs is absent.
        StartError: The database or the port is not to be had.
    """
    url = required(config.database_url, "SHOP_DATABASE_URL", EXAMPLE_URL)
    async with AsyncExitStack() as stack:
        database = await connect_database(url, config.database_pool)
        stack.push_async_callback(database.close)
        service = PaymentService(PostgresPayments(database), SimulatedBank(config.bank_delay_ms / 1000))
        await serve_grpc(config, lambda server: add_payment_service(server, service))


if __name__ == "__main__":
    sys.exit(launch(serve, os.environ))
