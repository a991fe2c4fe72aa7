"""The data that a service shows to callers from outside, and to callers whose tokens it cannot verify."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from memory_shop import Data, MemoryShop
from served_shop import served_service
from shop.platform.access.jwt import Principal, TokenSigner


@pytest.fixture
def partner(signer: TokenSigner) -> dict[str, str]:
    """The headers of a partner who comes through the edge."""
    return {"x-hopwise-edge": "1", "authorization": f"Bearer {signer.sign(Principal('partner', 1))}"}


@asynccontextmanager
async def over_rest(name: str, public_key: Path | None) -> AsyncIterator[httpx.AsyncClient]:
    service = MemoryShop(Data.demo()).use_cases(name)
    async with (
        served_service(name, service, public_key, ["rest"]) as at,
        httpx.AsyncClient(base_url=f"http://{at['rest']}", trust_env=False) as client,
    ):
        yield client


async def test_payments_show_callers_from_outside_what_a_gateway_shows(keys: Any, partner: dict[str, str]) -> None:
    async with over_rest("payment", keys.public_file) as rest:
        inside, outside = [(await rest.get("/v1/payments/1", headers=by)).json() for by in ({}, partner)]
    assert "checkout_id" in inside
    assert outside == {name: inside[name] for name in ("id", "order_id", "status", "amount")}


async def test_without_a_key_no_token_is_valid(partner: dict[str, str]) -> None:
    async with over_rest("user", None) as rest:
        assert (await rest.get("/v1/users/99", headers=partner)).status_code == 401
        assert (await rest.get("/v1/users/99")).status_code == 404
