"""`/v1/orders` and `/v1/users/{user_id}/orders`."""

from __future__ import annotations

import httpx
import pytest

from gateway_shop import ForUser, Headers
from memory_shop import Data, MemoryShop

BODY = {"user_id": 3, "lines": [{"product_id": 5, "quantity": 2}], "payment_token": "tok_ok"}


def add_key(headers: Headers, key: str = "purchase-1") -> Headers:
    return {**headers, "idempotency-key": key}


async def test_reads_one_order(api: httpx.AsyncClient, partner: Headers) -> None:
    answer = await api.get("/v1/orders/6", headers=partner)
    order = answer.json()
    assert set(order) == {"id", "user_id", "status", "placed_at", "total", "lines"}
    assert order["placed_at"] == "2023-04-07T06:00:00Z"
    assert set(order["lines"][0]) == {"id", "line_number", "product_id", "quantity", "unit_price"}


async def test_reads_order_and_payment_side_by_side(api: httpx.AsyncClient, shop: MemoryShop, partner: Headers) -> None:
    answer = await api.get("/v1/orders/6", params={"include": "payment"}, headers=partner)
    order = answer.json()
    assert order["payment"] == {"id": 6, "order_id": 6, "status": "CAPTURED", "amount": order["total"]}
    assert sorted(shop.record.methods) == ["batch_get_payments_by_order", "get_order"]


async def test_includes_user_and_products_in_one_call_each(
    api: httpx.AsyncClient, shop: MemoryShop, partner: Headers
) -> None:
    answer = await api.get("/v1/orders/4", params={"include": "payment,user,products"}, headers=partner)
    order = answer.json()
    assert order["user"]["id"] == order["user_id"]
    assert [product["id"] for product in order["products"]] == [line["product_id"] for line in order["lines"]]
    calls = sorted(shop.record.methods)
    assert calls == ["batch_get_payments_by_order", "batch_get_products", "batch_get_users", "get_order"]


async def test_the_order_of_a_deleted_account_is_only_for_partners(
    api: httpx.AsyncClient, shop: MemoryShop, partner: Headers, customer: ForUser
) -> None:
    buyer = Data.demo().orders[3].user_id
    path, params = "/v1/orders/4", {"include": "payment,user"}
    assert (await api.get(path, params=params, headers=customer(buyer))).status_code == 200
    await shop.delete_user(buyer)
    order = (await api.get(path, params=params, headers=partner)).json()
    assert order["user_id"] == 0
    assert order["payment"]["status"] == ("VOIDED" if order["status"] == "CANCELLED" else "CAPTURED")
    assert "user" not in order
    for gone in (path, "/v1/payments/4"):
        assert (await api.get(gone, headers=customer(buyer))).status_code == 404
    listed = await api.get("/v1/payments", params={"order_ids": "4"}, headers=customer(buyer))
    assert listed.json() == {"payments": []}


async def test_a_product_that_is_gone_is_left_out(api: httpx.AsyncClient, shop: MemoryShop, partner: Headers) -> None:
    gone = Data.demo().orders[3].lines[0].product_id
    await shop.delete_product(gone)
    answer = await api.get("/v1/orders/4", params={"include": "products"}, headers=partner)
    assert gone not in [product["id"] for product in answer.json()["products"]]


@pytest.mark.parametrize("kind", ["order", "payment"])
async def test_a_customer_sees_its_own_things_only(api: httpx.AsyncClient, customer: ForUser, kind: str) -> None:
    assert (await api.get(f"/v1/{kind}s/3", headers=customer(3))).status_code == 200
    for missing in (4, 999):
        answer = await api.get(f"/v1/{kind}s/{missing}", headers=customer(3))
        assert (answer.status_code, answer.json()["detail"]) == (404, f"there is no {kind} {missing}")


async def test_reads_many_orders(api: httpx.AsyncClient, shop: MemoryShop, partner: Headers) -> None:
    answer = await api.get("/v1/orders", params={"ids": "9,2,999", "include": "payment"}, headers=partner)
    assert [(order["id"], order["payment"]["order_id"]) for order in answer.json()["orders"]] == [(9, 9), (2, 2)]
    assert shop.record.methods == ["batch_get_orders", "batch_get_payments_by_order"]


async def test_lists_the_orders_of_a_user_newest_first(
    api: httpx.AsyncClient, shop: MemoryShop, customer: ForUser
) -> None:
    params: dict[str, str | int] = {"page_size": 6, "include": "payment,products"}
    first = (await api.get("/v1/users/3/orders", params=params, headers=customer(3))).json()
    calls = len(shop.record.calls)
    params["page_token"] = first["next_page_token"]
    second = (await api.get("/v1/users/3/orders", params=params, headers=customer(3))).json()
    assert [order["id"] for order in first["orders"] + second["orders"]] == list(range(48, 0, -5))
    assert second["next_page_token"] == ""
    assert all("payment" in order and "products" in order for order in first["orders"])
    assert calls == 3


async def test_a_customer_buys(api: httpx.AsyncClient, shop: MemoryShop, customer: ForUser) -> None:
    answer = await api.post("/v1/orders", json=BODY, headers=add_key(customer(3)))
    assert (answer.status_code, answer.headers["location"]) == (201, "/v1/orders/51")
    order = answer.json()
    assert order["status"] == "CONFIRMED"
    assert order["total"]["amount_minor"] == 2 * Data.demo().products[4].price.amount_minor
    assert shop.record.methods == ["checkout"]


async def test_a_partner_buys_for_any_user_and_as_many_as_1000(api: httpx.AsyncClient, partner: Headers) -> None:
    many = [{"product_id": 5, "quantity": 1000}]
    answer = await api.post("/v1/orders", json={**BODY, "lines": many}, headers=add_key(partner))
    assert (answer.status_code, answer.json()["user_id"]) == (201, 3)


async def test_a_key_with_another_body_is_refused(api: httpx.AsyncClient, partner: Headers) -> None:
    await api.post("/v1/orders", json=BODY, headers=add_key(partner))
    other = {**BODY, "lines": [{"product_id": 5, "quantity": 3}]}
    answer = await api.post("/v1/orders", json=other, headers=add_key(partner))
    assert (answer.status_code, answer.json()["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")


async def test_two_keys_are_refused(api: httpx.AsyncClient, partner: Headers) -> None:
    keys = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    answer = await api.post("/v1/orders", json=BODY, headers=[*partner.items(), *keys])
    assert answer.status_code == 400
    assert answer.json()["errors"] == [
        {"field": "Idempotency-Key", "message": "this header is given twice; give it once"}
    ]


async def test_short_stock_is_a_conflict(api: httpx.AsyncClient, partner: Headers) -> None:
    for key in ("a", "b"):
        answer = await api.post(
            "/v1/orders", json={**BODY, "lines": [{"product_id": 5, "quantity": 900}]}, headers=add_key(partner, key)
        )

    assert (answer.status_code, answer.json()["code"]) == (409, "OUT_OF_STOCK")


async def test_a_partner_moves_an_order_along(api: httpx.AsyncClient, partner: Headers) -> None:
    for status in ("SHIPPED", "DELIVERED"):
        answer = await api.patch("/v1/orders/4", json={"status": status}, headers=partner)
        assert answer.json()["status"] == status

    again = await api.patch("/v1/orders/4", json={"status": "SHIPPED"}, headers=partner)
    assert again.status_code == 409


async def test_a_customer_cancels_its_own_order(api: httpx.AsyncClient, customer: ForUser, partner: Headers) -> None:
    other = await api.post("/v1/orders/4:cancel", headers=customer(3))
    assert other.status_code == 404
    answer = await api.post("/v1/orders/4:cancel", headers=customer(4))
    assert answer.json()["status"] == "CANCELLED"
    again = await api.post("/v1/orders/4:cancel", headers=partner)
    assert again.json() == answer.json()
