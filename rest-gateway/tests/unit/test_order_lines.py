"""`/v1/order-lines`."""

from __future__ import annotations

import httpx

from gateway_shop import Headers
from memory_shop import Data, MemoryShop


async def test_reads_joined_lines(api: httpx.AsyncClient, shop: MemoryShop, partner: Headers) -> None:
    answer = await api.get("/v1/order-lines", params={"after_line_id": 2, "page_size": 1}, headers=partner)
    order = Data.demo().orders[1]
    line = order.lines[0]
    assert answer.json()["lines"] == [
        {
            "id": 3,
            "order_id": 2,
            "user_id": 2,
            "status": "DELIVERED",
            "placed_at": "2023-04-07T02:00:00Z",
            "product_id": line.product_id,
            "quantity": line.quantity,
            "unit_price": {"amount_minor": line.unit_price.amount_minor, "currency": "EUR"},
        }
    ]


async def test_pages_reach_every_line_once(api: httpx.AsyncClient, partner: Headers) -> None:
    seen: list[int] = []
    params: dict[str, str | int] = {"page_size": 50}
    pages = 0
    while True:
        page = (await api.get("/v1/order-lines", params=params, headers=partner)).json()
        pages += 1
        seen += [line["id"] for line in page["lines"]]
        if not page["next_page_token"]:
            break
        params["page_token"] = page["next_page_token"]

    assert seen == list(range(1, 151))
    assert pages == 4, "three full pages, then the final empty page"


async def test_a_token_goes_without_a_start(api: httpx.AsyncClient, partner: Headers) -> None:
    token = (await api.get("/v1/order-lines", params={"page_size": 5}, headers=partner)).json()["next_page_token"]
    answer = await api.get("/v1/order-lines", params={"page_token": token, "after_line_id": 3}, headers=partner)
    assert (answer.status_code, answer.json()["field"]) == (400, "after_line_id")
