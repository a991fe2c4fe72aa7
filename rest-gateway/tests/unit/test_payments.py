"""`/v1/payments`."""

from __future__ import annotations

import httpx

from gateway_shop import ForUser, Headers
from memory_shop import MemoryShop


async def test_a_partner_reads_the_payments_of_many_orders(
    api: httpx.AsyncClient, shop: MemoryShop, partner: Headers
) -> None:
    answer = await api.get("/v1/payments", params={"order_ids": "4,999,2"}, headers=partner)
    assert [payment["order_id"] for payment in answer.json()["payments"]] == [4, 2]
    assert set(answer.json()["payments"][0]) == {"id", "order_id", "status", "amount"}
    assert shop.record.methods == ["batch_get_payments_by_order"]


async def test_a_customer_reads_its_own_only(api: httpx.AsyncClient, shop: MemoryShop, customer: ForUser) -> None:
    answer = await api.get("/v1/payments", params={"order_ids": "3,4,8"}, headers=customer(3))
    assert [payment["order_id"] for payment in answer.json()["payments"]] == [3, 8]
    assert shop.record.methods == ["batch_get_payments_by_order"]
