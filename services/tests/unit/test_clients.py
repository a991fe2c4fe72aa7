"""Clients of missing services, addresses that cannot be used, and calls that may be retried."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shop.clients.protocol_by_address import connect
from shop.contract.calls import ORDER, PAYMENT, PRODUCT, USER, Service
from shop.platform.config import ConfigError
from shop.stubs import order_pb2, payment_pb2, product_pb2, user_pb2


async def test_client_of_an_absent_service_names_the_variable() -> None:
    async with connect({}, "order") as clients:
        with pytest.raises(ConfigError, match=r"order calls payment\.get_payment, but SHOP_PEER_PAYMENT is not set"):
            await clients.payment.get_payment(1)


async def test_unknown_protocol_is_refused_with_the_valid_ones() -> None:
    with pytest.raises(ConfigError, match=r"SHOP_PEER_USER is 'smtp://127\.0\.0\.1:25'; valid: grpc://host:port"):
        async with connect({"user": "smtp://127.0.0.1:25"}, "order"):
            pass


@pytest.mark.parametrize(
    ("service", "contract"), [(PRODUCT, product_pb2), (USER, user_pb2), (ORDER, order_pb2), (PAYMENT, payment_pb2)]
)
def test_reads_are_the_methods_whose_names_say_so(service: Service[Any], contract: Any) -> None:
    # A login counts failures and a checkout is repeated by its key, so neither is a read.
    (described,) = contract.DESCRIPTOR.services_by_name.values()
    named = re.compile(r"(Batch)?(Get|List)|Stream")
    assert service.reads == tuple(method.name for method in described.methods if named.match(method.name))


def test_a_process_that_serves_and_calls_rest_loads_no_other_protocol() -> None:
    ran = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("rest_only.py"))],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ran.stdout.strip() == ""
