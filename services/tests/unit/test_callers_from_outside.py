"""The data that a service shows to callers from outside, and to callers whose tokens it cannot verify."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from memory_shop import Data, MemoryShop
from served_shop import served_service
from shop.platform.access.jwt import Principal, TokenSigner
from shop.platform.graphql.service import client_path
from shop.platform.thrift.encoding import CALL, JSON, encode_message, open_message
from shop.platform.thrift.over_http import path_of
from shop.stubs.thrift import OrderService
from shop.stubs.thrift.ttypes import GetOrderRequest


@pytest.fixture
def by(signer: TokenSigner) -> Callable[..., dict[str, str]]:
    """Returns the headers of a caller who comes through the edge."""
    return lambda kind, number=1: {
        "x-hopwise-edge": "1",
        "authorization": f"Bearer {signer.sign(Principal(kind, number))}",
    }


@pytest.fixture
def partner(by: Callable[..., dict[str, str]]) -> dict[str, str]:
    return by("partner")


@asynccontextmanager
async def calling(name: str, public_key: Path | None, protocol: str = "rest") -> AsyncIterator[httpx.AsyncClient]:
    service = MemoryShop(Data.demo()).use_cases(name)
    async with (
        served_service(name, service, public_key, [protocol]) as at,
        httpx.AsyncClient(base_url=f"http://{at[protocol]}", trust_env=False) as client,
    ):
        yield client


async def test_payments_show_callers_from_outside_what_a_gateway_shows(keys: Any, partner: dict[str, str]) -> None:
    async with calling("payment", keys.public_file) as rest:
        inside, outside = [(await rest.get("/v1/payments/1", headers=by)).json() for by in ({}, partner)]
    assert "checkout_id" in inside
    assert outside == {name: inside[name] for name in ("id", "order_id", "status", "amount")}


async def test_without_a_key_no_token_is_valid(partner: dict[str, str]) -> None:
    async with calling("user", None) as rest:
        assert (await rest.get("/v1/users/99", headers=partner)).status_code == 401
        assert (await rest.get("/v1/users/99")).status_code == 404


async def order_over_connect(order: httpx.AsyncClient, headers: dict[str, str]) -> str:
    """Reads order 1; returns the code of the error, in capitals, and nothing for no error."""
    answer = await order.post("/shop.order.v1.OrderService/GetOrder", json={"id": 1}, headers=headers)
    return "" if answer.is_success else str(answer.json()["code"]).upper()


async def order_over_thrift(order: httpx.AsyncClient, headers: dict[str, str]) -> str:
    asked = OrderService.GetOrder_args({}, GetOrderRequest(id=1))
    message = encode_message(JSON, "GetOrder", CALL, 1, asked)
    answer, result = (
        await order.post(path_of("order"), content=message, headers=headers),
        OrderService.GetOrder_result(),
    )
    result.read(open_message(JSON, answer.content)[-1])
    return "" if result.error is None else str(result.error.code)


async def order_over_graphql(order: httpx.AsyncClient, headers: dict[str, str]) -> str:
    answer = await order.post(client_path("order"), json={"query": "{ order(id: 1) { id } }"}, headers=headers)
    return "".join(error["extensions"]["code"] for error in answer.json().get("errors", ()))


@pytest.mark.parametrize(
    ("protocol", "ask"),
    [("connect", order_over_connect), ("graphql", order_over_graphql), ("thrift_json", order_over_thrift)],
)
async def test_a_customer_s_token_opens_its_own_orders_alone(
    keys: Any, by: Callable[..., dict[str, str]], protocol: str, ask: Callable[..., Any]
) -> None:
    async with calling("order", keys.public_file, protocol) as order:
        codes = [
            await ask(order, headers) for headers in (by("customer", 1), by("customer", 2), {"x-hopwise-edge": "1"})
        ]
    assert codes == ["", "NOT_FOUND", "UNAUTHENTICATED"]
