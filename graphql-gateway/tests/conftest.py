"""A gateway over a shop in memory, and its variant that reads item by item."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from graphql_gateway.app import build_app
from graphql_gateways import *  # noqa: F403 - the fixtures
from graphql_gateways import GatewayClient, serving
from memory_shop import MemoryShop
from shop.platform.access.jwt import TokenSigner, TokenVerifier
from shop.platform.access.rules import Authenticator
from shop.platform.incoming import Incoming


@pytest.fixture
async def naive_gateway(shop: MemoryShop, signer: TokenSigner, verifier: TokenVerifier) -> AsyncIterator[GatewayClient]:
    async with serving(build_app(shop.clients, Incoming(Authenticator(verifier)), loaders=False)) as http:
        yield GatewayClient(http, signer, shop)
