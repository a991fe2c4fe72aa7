"""Who may read and change what."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from conforming import says
from graphql_gateway.app import build_app
from graphql_gateway.objects.global_id import global_id
from shop.platform.access.jwt import Principal
from shop.platform.access.rules import Authenticator
from shop.platform.admission import MAX_HASHES, Admission
from shop.platform.incoming import Incoming
from shop.platform.process.runtime import Runtime

USER_1, ORDER_1, PAYMENT_1 = (global_id(kind, 1) for kind in ("User", "Order", "Payment"))
LINES = f'[{{productId: "{global_id("Product", 1)}", quantity: 1}}]'
NEW_PRODUCT = '{title: "T", category: "c0001", price: {amountMinor: 1, currency: "EUR"}, stock: 1}'

OWNER = [
    f'{{ user(id: "{USER_1}") {{ email }} }}',
    f'{{ node(id: "{USER_1}") {{ id }} }}',
    f'{{ node(id: "{ORDER_1}") {{ id }} }}',
    f'{{ node(id: "{PAYMENT_1}") {{ id }} }}',
    f'{{ order(id: "{ORDER_1}") {{ status }} }}',
    f'{{ order(id: "{ORDER_1}") {{ payment {{ status }} }} }}',
    f'{{ payment(id: "{PAYMENT_1}") {{ status }} }}',
    f'mutation {{ deleteUser(input: {{id: "{USER_1}"}}) {{ deletedId }} }}',
]
CUSTOMERS = [
    "{ me { id } }",
    "{ me { email } }",
    "{ me { orders { edges { cursor } } } }",
    'mutation { updateProfile(input: {name: "N"}) { user { id } } }',
]
PARTNERS = [
    "{ users { edges { cursor } } }",
    "{ orderLines { edges { cursor } } }",
    f"mutation {{ createProduct(input: {NEW_PRODUCT}) {{ product {{ id }} }} }}",
    f'mutation {{ updateProduct(input: {{id: "{global_id("Product", 1)}", title: "T"}}) {{ product {{ id }} }} }}',
    f'mutation {{ deleteProduct(input: {{id: "{global_id("Product", 1)}"}}) {{ deletedId }} }}',
    f'mutation {{ updateOrderStatus(input: {{id: "{global_id("Order", 4)}", status: SHIPPED}}) {{ order {{ id }} }} }}',
]
CANCEL = f'mutation {{ cancelOrder(input: {{id: "{global_id("Order", 16)}"}}) {{ order {{ status }} }} }}'
CHECKOUT = f"""mutation {{
  checkout(input: {{idempotencyKey: "k", lines: {LINES}, paymentToken: "tok_ok"}}) {{ order {{ id }} }}
}}"""


@pytest.mark.parametrize("query", [*OWNER, *CUSTOMERS, *PARTNERS, CANCEL, CHECKOUT])
async def test_without_a_token_nothing_is_called(gateway: Any, query: str) -> None:
    code, _, message = await gateway.error(query)
    assert code == "UNAUTHENTICATED"
    assert says(message, "Authorization: Bearer")
    assert gateway.shop.record.methods == []


@pytest.mark.parametrize("query", OWNER)
async def test_the_owner_and_partners_may(gateway: Any, query: str) -> None:
    await gateway.data(query, user=1)
    if "mutation" not in query:
        await gateway.data(query, partner=True)


async def everything(shop: Any) -> Any:
    return await shop.orders.get_many(range(1_000)), await shop.users.page(after=0, limit=1_000)


@pytest.mark.parametrize("query", [*OWNER, CANCEL])
async def test_another_customer_may_not(gateway: Any, query: str) -> None:
    before = await everything(gateway.shop)
    # A user may name itself. Other callers do not learn whether any other thing exists.
    wanted = "PERMISSION_DENIED" if USER_1 in query else "NOT_FOUND"
    assert (await gateway.error(query, user=2))[0] == wanted
    assert before == await everything(gateway.shop)


@pytest.mark.parametrize("query", CUSTOMERS)
async def test_customers_only(gateway: Any, query: str) -> None:
    await gateway.data(query, user=1)
    assert (await gateway.error(query, partner=True))[0] == "PERMISSION_DENIED"


@pytest.mark.parametrize("query", PARTNERS)
async def test_partners_only(gateway: Any, query: str) -> None:
    assert (await gateway.error(query, user=1))[0] == "PERMISSION_DENIED"
    assert gateway.shop.record.methods == []
    await gateway.data(query, partner=True)


@pytest.mark.parametrize("field", ["email", "address { city }", "orders { edges { cursor } }"])
async def test_an_author_shows_the_name_only(gateway: Any, field: str) -> None:
    query = f"{{ products(first: 1) {{ edges {{ node {{ reviews(first: 1) {{ author {{ name {field} }} }} }} }} }} }}"
    answer = await gateway.run(query, user=7)
    assert answer["errors"][0]["extensions"]["code"] == "PERMISSION_DENIED"
    assert answer["data"]["products"]["edges"][0]["node"]["reviews"][0]["author"] is None
    await gateway.data(query, user=2)
    await gateway.data(query, partner=True)


async def test_a_login_opens_its_own_user_only(gateway: Any) -> None:
    query = """mutation { login(input: {email: "user1@example.com", password: "hopwise-demo"}) {
      user { email orders(first: 1) { edges { node { id user { email } } } } } } }"""
    answer = await gateway.run(query)
    order = answer["data"]["login"]["user"]["orders"]["edges"][0]["node"]
    assert order["user"] is None
    assert answer["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


async def test_bad_tokens(gateway: Any) -> None:
    expired = gateway.signer.sign(Principal("customer", 1), -1)
    good = gateway.token("customer", 1)
    for header in (f"Bearer {expired}", f"Bearer {good[:-2]}", "Bearer x", "Basic dXNlcjpw", "Bearer", good):
        response = await gateway.post({"query": "{ me { id } }"}, authorization=header)
        assert response.status_code == 200
        assert response.json()["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED", header


async def test_open_reads_do_not_look_at_the_token(gateway: Any) -> None:
    response = await gateway.post({"query": "{ products(first: 1) { edges { cursor } } }"}, authorization="Bearer x")
    assert "errors" not in response.json()


@pytest.mark.parametrize(
    "selection", ["id status user { id }", "id user { id name }", "payment { status } user { id }"]
)
async def test_the_order_of_a_deleted_account_is_only_for_partners(gateway: Any, selection: str) -> None:
    query = f'{{ order(id: "{ORDER_1}") {{ {selection} }} }}'
    assert (await gateway.data(query, user=1))["order"]["user"]["id"] == USER_1
    await gateway.shop.delete_user(1)
    assert (await gateway.data(query, partner=True))["order"]["user"] is None
    unknown = await gateway.error(query.replace(ORDER_1, global_id("Order", 9)), user=1)
    assert await gateway.error(query, user=1) == ("NOT_FOUND", "id", "there is no order 1")
    assert unknown == ("NOT_FOUND", "id", "there is no order 9")
    assert (await gateway.error(f'{{ payment(id: "{PAYMENT_1}") {{ status }} }}', user=1))[0] == "NOT_FOUND"


async def test_passwords_leave_room_for_requests_that_the_edge_always_admits(shop: Any, verifier: Any) -> None:
    login = 'mutation { login(input: {email: "nobody@example.com", password: "battery staple"}) { token } }'
    address = '{recipient: "A", street: "B", city: "C", postalCode: "1", countryCode: "DE"}'
    sign_up = (
        f'mutation {{ createUser(input: {{email: "a@example.com", name: "A", address: {address}, '
        'password: "battery staple"}) { user { id } } }'
    )
    read = "{ products { edges { cursor } } }"
    limit = Admission()
    app = build_app(shop.clients, Incoming(Authenticator(verifier), Runtime(admission=limit)))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway") as client:

        async def errors(query: str) -> list[dict[str, Any]]:
            answer = (await client.post("/graphql", json={"query": query})).json()
            return [error["extensions"] for error in answer.get("errors", [])]

        with ExitStack() as others:
            for _ in range(MAX_HASHES):
                others.enter_context(limit.hashes.hold())
            refused = [await errors(login), await errors(sign_up)]
            served = await errors(read)
        free = [await errors(login), await errors(sign_up)]
    assert refused == [[{"code": "TOO_MANY_REQUESTS", "retryAfter": 1}]] * 2
    assert served == []
    assert free == [[{"code": "UNAUTHENTICATED"}], []]
