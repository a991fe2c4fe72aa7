"""The journeys with the documents that the load generator sends: their answers, and how many calls they cost."""

from __future__ import annotations

import asyncio
from typing import Any

from graphql_gateway.objects.global_id import global_id
from graphql_gateways import DOCUMENTS

ADDRESS = {"recipient": "A", "street": "B 1", "city": "C", "postalCode": "12345", "countryCode": "DE"}


def document(name: str) -> str:
    return (DOCUMENTS / f"{name}.graphql").read_text()


async def test_browse_makes_one_call(gateway: Any) -> None:
    data = await gateway.data(document("browse"), {"category": "c0001"})
    nodes = [edge["node"] for edge in data["products"]["edges"]]
    assert [node["title"] for node in nodes] == [f"Product {number}" for number in range(101, 121)]
    assert nodes[0] == {
        "id": global_id("Product", 101),
        "title": "Product 101",
        "stock": 1101,
        "price": {"amountMinor": 3837, "currency": "EUR"},
        "reviews": [
            {"id": global_id("Review", 301), "rating": 2, "title": "Review 301"},
            {"id": global_id("Review", 302), "rating": 3, "title": "Review 302"},
            {"id": global_id("Review", 303), "rating": 4, "title": "Review 303"},
        ],
    }
    assert gateway.shop.record.methods == ["list_products_with_reviews"]


async def test_product_makes_one_call(gateway: Any) -> None:
    data = await gateway.data(document("product"), {"id": global_id("Product", 7)})
    assert data["product"] == {
        "id": global_id("Product", 7),
        "title": "Product 7",
        "description": "What product 7 is.",
        "category": "c0000",
        "stock": 1007,
        "price": {"amountMinor": 359, "currency": "EUR"},
    }
    assert gateway.shop.record.methods == ["batch_get_products"]


async def test_order_history_makes_three_calls_of_which_two_run_at_the_same_time(gateway: Any) -> None:
    gateway.shop.record.on_call = lambda _: asyncio.sleep(0.01)
    data = await gateway.data(document("order_history"), {"first": 10}, user=1)
    orders = [edge["node"] for edge in data["me"]["orders"]["edges"]]
    assert [order["id"] for order in orders] == [global_id("Order", number) for number in range(46, 0, -5)]
    newest = orders[0]
    assert (newest["placedAt"], newest["payment"]) == ("2023-04-08T22:00:00Z", {"status": "CAPTURED"})
    assert [line["lineNumber"] for line in newest["lines"]] == [1, 2]
    assert newest["lines"][0]["product"]["title"] == "Product 123"
    orders_call, *others = gateway.shop.record.calls
    assert orders_call.method == "list_orders_by_user"
    assert sorted(call.method for call in others) == ["batch_get_payments_by_order", "batch_get_products"]
    assert others[0].overlaps(others[1])


async def test_login_and_profile(gateway: Any) -> None:
    data = await gateway.data(document("login"), {"email": "user3@example.com", "password": "hopwise-demo"})
    token = data["login"]["token"]
    response = await gateway.post({"query": document("profile")}, authorization=f"Bearer {token}")
    assert response.json()["data"]["me"] == {"id": global_id("User", 3), "email": "user3@example.com", "name": "User 3"}
    assert gateway.shop.record.methods == ["batch_get_users"]


async def test_checkout_makes_one_call_and_is_idempotent(gateway: Any) -> None:
    lines = [{"productId": global_id("Product", id_), "quantity": pieces} for id_, pieces in ((3, 2), (4, 1))]
    variables = {"input": {"idempotencyKey": "key-1", "lines": lines, "paymentToken": "tok_ok"}}
    first = await gateway.data(document("checkout"), variables, user=7)
    assert gateway.shop.record.methods == ["checkout"]
    assert await gateway.data(document("checkout"), variables, user=7) == first
    order = first["checkout"]["order"]
    assert order["status"] == "CONFIRMED"
    assert order["total"] == {"amountMinor": 2 * 211 + 248, "currency": "EUR"}
    assert [(line["lineNumber"], line["quantity"]) for line in order["lines"]] == [(1, 2), (2, 1)]
    assert (await gateway.shop.products.get(3)).stock == 1003 - 2


async def test_update_profile_makes_one_call(gateway: Any) -> None:
    data = await gateway.data(document("update_profile"), {"address": ADDRESS}, user=2)
    assert data["updateProfile"]["user"] == {"id": global_id("User", 2), "address": ADDRESS}
    assert gateway.shop.record.methods == ["update_user"]


async def test_order_status_asks_for_the_payment_while_the_order_is_on_its_way(gateway: Any) -> None:
    gateway.shop.record.on_call = lambda _: asyncio.sleep(0.01)
    data = await gateway.data(document("order_status"), {"id": global_id("Order", 4)}, partner=True)
    assert data["order"]["status"] == "CONFIRMED"
    assert data["order"]["payment"] == {"status": "CAPTURED", "amount": data["order"]["total"]}
    order, payment = sorted(gateway.shop.record.calls, key=lambda call: call.method)
    assert (order.method, payment.method) == ("batch_get_orders", "batch_get_payments_by_order")
    assert order.overlaps(payment)


async def test_bulk_lines_makes_one_call(gateway: Any) -> None:
    variables = {"first": 5, "after": global_id("OrderLine", 2)}
    data = await gateway.data(document("bulk_lines"), variables, partner=True)
    nodes = [edge["node"] for edge in data["orderLines"]["edges"]]
    assert [node["id"] for node in nodes] == [global_id("OrderLine", number) for number in range(3, 8)]
    assert nodes[0]["order"] == {
        "id": global_id("Order", 2),
        "status": "DELIVERED",
        "placedAt": "2023-04-07T02:00:00Z",
        "user": {"id": global_id("User", 2)},
    }
    assert gateway.shop.record.methods == ["stream_order_lines"]
