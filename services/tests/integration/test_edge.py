"""The data that a service shows to callers from outside, and to callers whose tokens it cannot verify."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from shop.payment import bootstrap as payment_bootstrap
from shop.platform.access.jwt import Principal, TokenSigner
from shop.platform.config import ServiceConfig
from shop.platform.serve import servers
from shop.user import bootstrap as user_bootstrap

EDGE = {"x-hopwise-edge": "1"}
NOBODY = "/v1/users/100000000000000000"


@pytest.fixture
def partner(signer: TokenSigner) -> dict[str, str]:
    """The headers of a partner who comes through the edge."""
    return {**EDGE, "authorization": f"Bearer {signer.sign(Principal('partner', 1))}"}


@asynccontextmanager
async def serving(name: str, bootstrap: Any, url: str, keys: Any, *, verifies: bool = True) -> AsyncIterator[Any]:
    config = ServiceConfig(
        component=name,
        listen_rest="127.0.0.1:0",
        database_url=url,
        database_pool=2,
        jwt_private_key_file=str(keys.private_file),
        jwt_public_key_file=str(keys.public_file) if verifies else None,
    )
    async with (
        bootstrap.bootstrap(config) as service,
        servers(config, bootstrap.offer(service)) as addresses,
        httpx.AsyncClient(base_url=f"http://{addresses['rest']}", trust_env=False) as rest,
    ):
        yield rest


async def test_payments_show_callers_from_outside_what_a_gateway_shows(
    role_url: Callable[[str], str], keys: Any, partner: dict[str, str]
) -> None:
    path = "/v1/payments/by-checkout/0d5f4a52-7a0c-4d59-8a39-5a6a7f1f0001"
    body = {"user_id": 3, "amount": {"amount_minor": 5, "currency": "EUR"}, "payment_token": "tok_ok"}
    async with serving("payment", payment_bootstrap, role_url("payment"), keys) as rest:
        assert (await rest.put(path, json=body, headers=partner)).status_code == 403
        made = (await rest.put(path, json=body)).json()
        assert "checkout_id" in made
        seen = (await rest.get(f"/v1/payments/{made['id']}", headers=partner)).json()
        assert seen == {"id": made["id"], "order_id": 0, "status": "AUTHORIZED", "amount": body["amount"]}


async def test_without_a_key_no_token_is_valid(
    role_url: Callable[[str], str], keys: Any, partner: dict[str, str]
) -> None:
    async with serving("user", user_bootstrap, role_url("user"), keys, verifies=False) as rest:
        assert (await rest.get(NOBODY, headers=partner)).status_code == 401
        assert (await rest.get(NOBODY)).status_code == 404
