"""Clients that change the same order's status concurrently, each with the entity tag of the order that it read."""

from __future__ import annotations

import asyncio

import pytest

from .conftest import Shop

pytestmark = pytest.mark.parametrize("shop", ["rest"], indirect=True)
ROUNDS = 40


async def test_of_moves_of_an_order_with_one_tag_one_succeeds(shop: Shop) -> None:
    async with shop.client(headers={"authorization": shop.token("partner", 1)}) as client:
        listed = await client.get("/v1/orders", params={"ids": ",".join(map(str, range(1, 1001)))})
        confirmed = [order["id"] for order in listed.json()["orders"] if order["status"] == "CONFIRMED"]
        assert len(confirmed) >= ROUNDS
        for path in (f"/v1/orders/{order}" for order in confirmed[:ROUNDS]):
            tag = {"if-match": (await client.get(path)).headers["etag"]}
            rivals = (client.patch(path, json={"status": "SHIPPED"}, headers=tag) for _ in range(4))
            assert sorted(answer.status_code for answer in await asyncio.gather(*rivals)) == [200, 412, 412, 412]
