"""Clients of services that are not there, and addresses that cannot be used."""

from __future__ import annotations

import pytest

from shop.clients.connect import connect
from shop.platform.errors import ConfigError


async def test_client_of_an_absent_service_names_the_variable() -> None:
    async with connect({}, "order") as clients:
        with pytest.raises(ConfigError, match=r"order calls payment\.get_payment, but SHOP_PEER_PAYMENT is not set"):
            await clients.payment.get_payment(1)


async def test_unknown_protocol_is_refused_with_the_valid_ones() -> None:
    with pytest.raises(ConfigError, match=r"SHOP_PEER_USER is 'smtp://127\.0\.0\.1:25'; valid: grpc://host:port"):
        async with connect({"user": "smtp://127.0.0.1:25"}, "order"):
            pass
