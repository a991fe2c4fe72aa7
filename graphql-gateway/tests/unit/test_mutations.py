"""Every mutation, and the input that it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from conforming import says
from graphql_gateway.objects.global_id import global_id
from shop.product.domain import ProductChange

ADDRESS = {"recipient": "A", "street": "B 1", "city": "C", "postalCode": "12345", "countryCode": "DE"}
CHECKOUT = (
    "mutation ($input: CheckoutInput!) { checkout(input: $input) { order { id user { id } payment { status } } } }"
)


def purchase(**changes: Any) -> dict[str, Any]:
    lines = [{"productId": global_id("Product", 3), "quantity": 1}]
    return {"input": {"idempotencyKey": "k", "lines": lines, "paymentToken": "tok_ok"} | changes}


async def test_a_product_is_created_changed_and_deleted(gateway: Any) -> None:
    create = """mutation ($input: CreateProductInput!) {
      createProduct(input: $input) { product { id title stock price { amountMinor currency } } } }"""
    price = {"amountMinor": 2**39, "currency": "EUR"}
    new = {"title": "Lamp", "category": "c0001", "price": price, "stock": 10**9}
    made = (await gateway.data(create, {"input": new}, partner=True))["createProduct"]["product"]
    assert made == {"id": global_id("Product", 201), "title": "Lamp", "stock": 10**9, "price": price}

    update = (
        "mutation ($input: UpdateProductInput!) { updateProduct(input: $input) { product { title stock category } } }"
    )
    change = {"id": made["id"], "stock": 0}
    assert (await gateway.error(update, {"input": change}, partner=True))[0] == "PRECONDITION_REQUIRED"
    in_no_currency = {"id": made["id"], "price": {"amountMinor": 1}}
    assert (await gateway.error(update, {"input": in_no_currency}, partner=True))[0] == "INVALID_ARGUMENT"
    read = {**new, "description": ""}
    changed = await gateway.data(update, {"input": {**change, "expected": read}}, partner=True)
    assert changed["updateProduct"]["product"] == {"title": "Lamp", "stock": 0, "category": "c0001"}
    late = {"id": made["id"], "title": "Late", "expected": read}
    assert (await gateway.error(update, {"input": late}, partner=True))[0] == "PRECONDITION_FAILED"

    delete = "mutation ($input: DeleteProductInput!) { deleteProduct(input: $input) { deletedId } }"
    late = {"id": made["id"], "expected": read}
    assert (await gateway.error(delete, {"input": late}, partner=True))[0] == "PRECONDITION_FAILED"
    deleted = await gateway.data(delete, {"input": {"id": made["id"]}}, partner=True)
    assert deleted["deleteProduct"]["deletedId"] == made["id"]
    assert (await gateway.error(delete, {"input": {"id": made["id"]}}, partner=True))[0] == "NOT_FOUND"


async def test_a_user_signs_up_logs_in_and_leaves(gateway: Any) -> None:
    create = "mutation ($input: CreateUserInput!) { createUser(input: $input) { user { id email address { city } } } }"
    new = {"email": "new@example.com", "name": "New", "address": ADDRESS, "password": "correct horse"}
    made = (await gateway.data(create, {"input": new}))["createUser"]["user"]
    assert made == {"id": global_id("User", 21), "email": "new@example.com", "address": {"city": "C"}}
    assert (await gateway.error(create, {"input": new}))[0] == "ALREADY_EXISTS"

    login = """mutation ($input: LoginInput!) {
      login(input: $input) { token user { id email orders { edges { cursor } } } } }"""
    credentials = {"input": {"email": "new@example.com", "password": "correct horse"}}
    assert (await gateway.data(login, credentials))["login"]["user"]["email"] == "new@example.com"

    change = "mutation ($input: UpdateProfileInput!) { updateProfile(input: $input) { user { name } } }"
    read = {"email": "new@example.com", "name": "New", "address": ADDRESS}
    await gateway.data(change, {"input": {"name": "Newer", "expected": read}}, user=21)
    late = {"name": "Late", "expected": read}
    assert (await gateway.error(change, {"input": late}, user=21))[0] == "PRECONDITION_FAILED"

    delete = "mutation ($input: DeleteUserInput!) { deleteUser(input: $input) { deletedId } }"
    late = {"id": made["id"], "expected": read}
    assert (await gateway.error(delete, {"input": late}, user=21))[0] == "PRECONDITION_FAILED"
    assert (await gateway.error(delete, {"input": {"id": made["id"]}}, user=2))[0] == "PERMISSION_DENIED"
    await gateway.data(delete, {"input": {"id": made["id"]}}, user=21)
    assert (await gateway.error(login, credentials))[0] == "UNAUTHENTICATED"


async def test_a_profile_changes_only_the_given_fields(gateway: Any) -> None:
    update = """mutation ($input: UpdateProfileInput!) {
      updateProfile(input: $input) { user { name email address { city } } } }"""
    data = await gateway.data(update, {"input": {"name": "Renamed"}}, user=4)
    user = data["updateProfile"]["user"]
    assert user == {"name": "Renamed", "email": "user4@example.com", "address": {"city": "Springfield"}}


async def test_a_partner_buys_for_a_user(gateway: Any) -> None:
    data = await gateway.data(CHECKOUT, purchase(userId=global_id("User", 9)), partner=True)
    order = data["checkout"]["order"]
    assert (order["user"], order["payment"]) == ({"id": global_id("User", 9)}, {"status": "CAPTURED"})


async def test_an_order_moves_on_or_is_cancelled(gateway: Any) -> None:
    move = "mutation ($input: UpdateOrderStatusInput!) { updateOrderStatus(input: $input) { order { status } } }"
    order = global_id("Order", 4)
    moved = await gateway.data(move, {"input": {"id": order, "status": "SHIPPED"}}, partner=True)
    assert moved["updateOrderStatus"]["order"]["status"] == "SHIPPED"
    cancel = "mutation ($input: CancelOrderInput!) { cancelOrder(input: $input) { order { status } } }"
    assert (await gateway.error(cancel, {"input": {"id": order}}, partner=True))[0] == "FAILED_PRECONDITION"
    other = {"input": {"id": global_id("Order", 8)}}
    assert (await gateway.error(cancel, other, user=1))[0] == "NOT_FOUND"
    assert (await gateway.data(cancel, other, user=3))["cancelOrder"]["order"]["status"] == "CANCELLED"


PRODUCT_3 = global_id("Product", 3)
BAD_PURCHASES = [
    ({"lines": []}, "INVALID_ARGUMENT", "lines"),
    ({"lines": [{"productId": "x", "quantity": 1}]}, "INVALID_ARGUMENT", "input.lines[0].productId"),
    ({"lines": [{"productId": PRODUCT_3, "quantity": 10**6}]}, "INVALID_ARGUMENT", "lines[0].quantity"),
    ({"lines": [{"productId": PRODUCT_3, "quantity": 4}]}, "OUT_OF_STOCK", "lines[0].quantity"),
    ({"lines": [{"productId": global_id("Product", 999), "quantity": 1}]}, "NOT_FOUND", "lines[0].productId"),
    ({"paymentToken": "tok_declined"}, "PAYMENT_DECLINED", "paymentToken"),
    ({"paymentToken": "cash"}, "INVALID_ARGUMENT", "paymentToken"),
    ({"userId": global_id("User", 2)}, "PERMISSION_DENIED", "input.userId"),
    ({"userId": PRODUCT_3}, "INVALID_ARGUMENT", "input.userId"),
]


@pytest.mark.parametrize(("changes", "code", "field"), BAD_PURCHASES, ids=[str(case[0]) for case in BAD_PURCHASES])
async def test_a_purchase_that_cannot_be(gateway: Any, changes: dict[str, Any], code: str, field: str) -> None:
    await gateway.shop.products.change(3, ProductChange(stock=3), None)
    assert (await gateway.error(CHECKOUT, purchase(**changes), user=1))[:2] == (code, field)


async def test_a_partner_must_name_the_buyer(gateway: Any) -> None:
    assert (await gateway.error(CHECKOUT, purchase(), partner=True))[:2] == ("INVALID_ARGUMENT", "input.userId")


async def test_an_idempotency_key_with_another_body(gateway: Any) -> None:
    await gateway.data(CHECKOUT, purchase(), user=1)
    other = purchase(lines=[{"productId": PRODUCT_3, "quantity": 2}])
    assert (await gateway.error(CHECKOUT, other, user=1))[0] == "IDEMPOTENCY_KEY_REUSED"


@pytest.mark.parametrize(
    "query",
    [
        "mutation { updateProfile(input: {}) { user { id } } }",
        f'mutation {{ updateProduct(input: {{id: "{PRODUCT_3}"}}) {{ product {{ id }} }} }}',
    ],
)
async def test_a_change_of_nothing(gateway: Any, query: str) -> None:
    who: dict[str, Any] = {"user": 1} if "Profile" in query else {"partner": True}
    code, field, message = await gateway.error(query, **who)
    assert (code, field) == ("INVALID_ARGUMENT", "input")
    assert says(message, "at least one of")


async def test_values_out_of_range_of_their_type(gateway: Any) -> None:
    query = f"""mutation ($stock: Long!) {{
      updateProduct(input: {{id: "{PRODUCT_3}", stock: $stock}}) {{ product {{ id }} }} }}"""
    for stock in (2**63, 1.5, "7", True, None):
        code, _, message = await gateway.error(query, {"stock": stock}, partner=True)
        assert code == "INVALID_ARGUMENT"
        assert says(message, "stock")
