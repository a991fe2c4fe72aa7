"""Clients that change the same resource side by side, each with the entity tag of what it read."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import httpx
import pytest

from .conftest import Shop

pytestmark = [pytest.mark.integration, pytest.mark.parametrize("shop", ["rest"], indirect=True)]
ROUNDS, RIVALS = 40, 4
ONE = [200, *[412] * (RIVALS - 1)]


async def rival_changes(client: httpx.AsyncClient, path: str, field: str, values: list[str]) -> list[int]:
    """Reads a resource once, sends a change for each value at once, and returns the statuses in ascending order."""
    tag = (await client.get(path)).headers["etag"]
    sent = (client.patch(path, json={field: value}, headers={"if-match": tag}) for value in values)
    return sorted(answer.status_code for answer in await asyncio.gather(*sent))


@pytest.mark.parametrize(("path", "field"), [("/v1/products/11", "title"), ("/v1/users/11", "name")])
async def test_of_changes_with_one_tag_one_is_made(shop: Shop, path: str, field: str) -> None:
    async with shop.client(headers={"authorization": shop.token("partner", 1)}) as client:
        for round_ in range(ROUNDS):
            values = [f"{round_} of {rival}" for rival in range(RIVALS)]
            assert await rival_changes(client, path, field, values) == ONE


async def test_of_moves_of_an_order_with_one_tag_one_is_made(shop: Shop) -> None:
    async with shop.client(headers={"authorization": shop.token("partner", 1)}) as client:
        listed = await client.get("/v1/orders", params={"ids": ",".join(map(str, range(1, 1001)))})
        confirmed = [order["id"] for order in listed.json()["orders"] if order["status"] == "CONFIRMED"]
        assert len(confirmed) >= ROUNDS
        for order in confirmed[:ROUNDS]:
            assert await rival_changes(client, f"/v1/orders/{order}", "status", ["SHIPPED"] * RIVALS) == ONE


async def test_customers_buy_no_more_than_was_put_in(shop: Shop) -> None:
    """Restocks a product four times over while customers buy it: 20 and 4 times 5 pieces are 40."""
    price: Mapping[str, object] = {"amount_minor": 100, "currency": "EUR"}
    new = {"title": "Rare", "description": "", "category": "rare", "price": price, "stock": 20}
    async with shop.client(headers={"authorization": shop.token("partner", 1)}) as client:
        made = (await client.post("/v1/products", json=new)).json()["id"]
        path = f"/v1/products/{made}"

        async def restock() -> None:
            while True:
                read = await client.get(path)
                more = {"stock": read.json()["stock"] + 5}
                answer = await client.patch(path, json=more, headers={"if-match": read.headers["etag"]})
                if answer.status_code != 412:
                    assert answer.status_code == 200
                    return

        async def buy(key: str) -> bool:
            body = {"user_id": 1, "lines": [{"product_id": made, "quantity": 1}], "payment_token": "tok_ok"}
            answer = await client.post("/v1/orders", json=body, headers={"idempotency-key": key})
            assert answer.status_code in (201, 409), answer.text
            return answer.status_code == 201

        async def buy_in_turn(customer: int) -> int:
            return sum([await buy(f"{made}/{customer}/{number}") for number in range(12)])

        customers = (buy_in_turn(customer) for customer in range(4))
        bought, *_ = await asyncio.gather(asyncio.gather(*customers), *(restock() for _ in range(4)))
        left = (await client.get(path)).json()["stock"]
        assert sum(bought) + left == 20 + 4 * 5
