"""Every other read: nodes, connections, and paths from one entity to another."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from conforming import says
from graphql_gateway.objects.global_id import global_id
from memory_shop import Data
from shop.errors import DeadlineExceeded


@pytest.mark.parametrize("kind", ["Order", "Payment", "Product", "User"])
async def test_node_returns_anything_by_its_global_id(gateway: Any, kind: str) -> None:
    query = "query ($id: ID!) { node(id: $id) { __typename id } }"
    data = await gateway.data(query, {"id": global_id(kind, 5)}, partner=True)
    assert data["node"] == {"__typename": kind, "id": global_id(kind, 5)}


async def test_node_returns_the_fields_of_the_type(gateway: Any) -> None:
    query = """query ($id: ID!) { node(id: $id) {
      ... on Payment { status amount { amountMinor } order { id total { currency } } } } }"""
    data = await gateway.data(query, {"id": global_id("Payment", 5)}, partner=True)
    assert data["node"]["order"] == {"id": global_id("Order", 5), "total": {"currency": "EUR"}}
    assert gateway.shop.record.methods == ["get_payment", "batch_get_orders"]


async def test_things_that_are_selected_twice_are_read_once(gateway: Any) -> None:
    query = """query ($a: ID!, $b: ID!) {
      one: product(id: $a) { title } same: product(id: $a) { stock } other: product(id: $b) { title } }"""
    data = await gateway.data(query, {"a": global_id("Product", 1), "b": global_id("Product", 2)})
    assert data == {"one": {"title": "Product 1"}, "same": {"stock": 1001}, "other": {"title": "Product 2"}}
    assert gateway.shop.record.methods == ["batch_get_products"]


async def test_reviews_of_different_lengths_are_one_call(gateway: Any) -> None:
    query = "{ products(first: 2) { edges { node { reviews(first: 1) { id } more: reviews(first: 2) { id } } } } }"
    data = await gateway.data(query)
    node = data["products"]["edges"][1]["node"]
    assert [len(node["reviews"]), len(node["more"])] == [1, 2]
    assert gateway.shop.record.methods == ["list_products_with_reviews"]


@pytest.mark.parametrize("field", ["product", "node"])
async def test_a_product_and_its_reviews_are_one_call(gateway: Any, field: str) -> None:
    query = f"""query ($a: ID!, $b: ID!) {{
      one: {field}(id: $a) {{ ...p }} other: {field}(id: $b) {{ ...p }} }}
      fragment p on Product {{ title reviews(first: 1) {{ id }} more: reviews(first: 2) {{ id }} }}"""
    data = await gateway.data(query, {"a": global_id("Product", 1), "b": global_id("Product", 2)})
    assert [(len(data[name]["reviews"]), len(data[name]["more"])) for name in ("one", "other")] == [(1, 2), (1, 2)]
    assert gateway.shop.record.methods == ["batch_get_products_with_reviews"]


@pytest.mark.parametrize("skip", [1, 150])
async def test_no_reviews_are_read_of_products_that_a_page_leaves_out(gateway: Any, skip: int) -> None:
    query = f'{{ products(first: 5, after: "{skip}.") {{ edges {{ node {{ title reviews {{ id }} }} }} }} }}'
    data = await gateway.data(query)
    assert [len(edge["node"]["reviews"]) for edge in data["products"]["edges"]] == [3] * 5
    assert gateway.shop.record.methods == ["list_products", "batch_list_reviews"]


async def test_authors_are_one_call_and_show_their_names_only(gateway: Any) -> None:
    data = await gateway.data("{ products(first: 5) { edges { node { reviews { author { id name } } } } } }")
    author = data["products"]["edges"][0]["node"]["reviews"][0]["author"]
    assert author == {"id": global_id("User", 2), "name": "User 2"}
    assert gateway.shop.record.methods == ["list_products_with_reviews", "batch_get_users"]


async def test_the_author_of_a_review_may_be_gone(gateway: Any) -> None:
    await gateway.shop.delete_user(2)
    data = await gateway.data("{ products(first: 1) { edges { node { reviews { author { name } } } } } }")
    assert data["products"]["edges"][0]["node"]["reviews"][0]["author"] is None


async def test_a_line_outlives_its_product(gateway: Any) -> None:
    query = "query ($id: ID!) { order(id: $id) { lines { product { title } } } }"
    await gateway.shop.delete_product(8)
    data = await gateway.data(query, {"id": global_id("Order", 1)}, user=1)
    assert data["order"]["lines"] == [{"product": None}, {"product": {"title": "Product 9"}}]


async def test_a_payment_without_an_order(gateway: Any) -> None:
    data = Data.demo()
    data.payments[4] = replace(data.payments[4], order_id=0)
    gateway.shop.fill(data)
    data = await gateway.data(
        "query ($id: ID!) { payment(id: $id) { status order { id } } }", {"id": global_id("Payment", 5)}, partner=True
    )
    assert data["payment"]["order"] is None


async def test_known_fields_need_no_call(gateway: Any) -> None:
    query = """
      query ($id: ID!) { payment(id: $id) { order { ...known } } }
      fragment known on Order { __typename ... on Order { id payment { id } } }
    """
    data = await gateway.data(query, {"id": global_id("Payment", 5)}, partner=True)
    assert data["payment"]["order"]["payment"] == {"id": global_id("Payment", 5)}
    assert gateway.shop.record.methods == ["get_payment", "batch_get_payments_by_order"]


async def test_a_line_of_the_bulk_read_can_tell_everything(gateway: Any) -> None:
    query = """{ orderLines(first: 3) {
      edges { cursor node { id lineNumber product { title } order { total { amountMinor } user { name email } } } }
      pageInfo { hasNextPage hasPreviousPage endCursor }
    } }"""
    data = await gateway.data(query, partner=True)
    third = data["orderLines"]["edges"][2]
    assert third["cursor"] == third["node"]["id"] == global_id("OrderLine", 3)
    assert third["node"]["lineNumber"] == 1
    assert third["node"]["order"]["user"] == {"name": "User 2", "email": "user2@example.com"}
    info, calls = data["orderLines"]["pageInfo"], gateway.shop.record.methods
    assert info == {"hasNextPage": True, "hasPreviousPage": False, "endCursor": global_id("OrderLine", 3)}
    assert sorted(calls) == ["batch_get_orders", "batch_get_products", "batch_get_users", "stream_order_lines"]


async def pages(gateway: Any, query: str, name: str, **who: Any) -> list[list[str]]:
    """Reads a whole connection page by page, and returns the ids of each page."""
    results, after = [], None
    while True:
        connection = (await gateway.data(query, {"after": after}, **who))[name]
        results.append([edge["node"]["id"] for edge in connection["edges"]])
        assert connection["pageInfo"]["hasPreviousPage"] is (after is not None)
        if not connection["pageInfo"]["hasNextPage"]:
            return results
        after = connection["pageInfo"]["endCursor"]


async def test_paging_visits_everything_once(gateway: Any) -> None:
    query = """query ($after: String) { products(first: 30, after: $after, category: "c0001") {
      edges { node { id } } pageInfo { hasNextPage hasPreviousPage endCursor } } }"""
    results = await pages(gateway, query, "products")
    assert [len(page) for page in results] == [30, 30, 30, 10]
    assert [id_ for page in results for id_ in page] == [global_id("Product", number) for number in range(101, 201)]


async def test_partners_page_through_users(gateway: Any) -> None:
    query = """query ($after: String) { users(first: 8, after: $after) {
      edges { node { id email } } pageInfo { hasNextPage hasPreviousPage endCursor } } }"""

    assert [len(page) for page in await pages(gateway, query, "users", partner=True)] == [8, 8, 4]


async def test_every_edge_can_be_resumed_from(gateway: Any) -> None:
    query = """query ($first: Int!, $after: String) { me { orders(first: $first, after: $after) {
      edges { cursor node { id } } pageInfo { startCursor endCursor hasNextPage } } } }"""

    async def orders(first: int, after: str | None) -> dict[str, Any]:
        data = await gateway.data(query, {"first": first, "after": after}, user=1)
        return dict(data["me"]["orders"])

    whole = await orders(10, None)
    ids = [edge["node"]["id"] for edge in whole["edges"]]
    start, end = whole["edges"][0]["cursor"], whole["edges"][9]["cursor"]
    assert whole["pageInfo"] == {"startCursor": start, "endCursor": end, "hasNextPage": False}
    for page in (whole, await orders(4, None)):
        for place, edge in enumerate(page["edges"]):
            rest = await orders(3, edge["cursor"])
            assert [one["node"]["id"] for one in rest["edges"]] == ids[place + 1 : place + 4]
            # A page that began in the middle of another has valid cursors, too.
            if rest["edges"]:
                after_first = await orders(2, rest["edges"][0]["cursor"])
                assert [one["node"]["id"] for one in after_first["edges"]] == ids[place + 2 : place + 4]


async def test_cursors_stay_within_the_page_that_the_service_gives(gateway: Any) -> None:
    demo = Data.demo()
    demo.orders += [replace(demo.orders[0], id=number) for number in range(51, 301)]
    gateway.shop.fill(demo)
    query = """query ($first: Int!, $after: String) { me { orders(first: $first, after: $after) {
      edges { cursor node { id } } } } }"""
    results, after = [], None
    for _ in range(8):
        data = await gateway.data(query, {"first": 50, "after": after}, user=1)
        # The cursor of the last item but one, so that every page begins in the middle of another.
        results += [edge["node"]["id"] for edge in data["me"]["orders"]["edges"][:-1]]
        after = data["me"]["orders"]["edges"][-2]["cursor"] if len(data["me"]["orders"]["edges"]) == 50 else after
    wanted = sorted((order.id for order in demo.orders if order.user_id == 1), reverse=True)
    assert list(dict.fromkeys(results)) == [
        global_id("Order", number) for number in wanted[: len(dict.fromkeys(results))]
    ]
    assert len(dict.fromkeys(results)) >= 250


async def test_an_empty_connection(gateway: Any) -> None:
    data = await gateway.data('{ products(category: "c9999") { edges { cursor } pageInfo { endCursor hasNextPage } } }')
    assert data["products"] == {"edges": [], "pageInfo": {"endCursor": None, "hasNextPage": False}}


ORDER_1, USER_1 = global_id("Order", 1), global_id("User", 1)
BAD_INPUT = [
    ('{ product(id: "12") { id } }', "INVALID_ARGUMENT", "id", "not a global identifier"),
    ('{ product(id: "") { id } }', "INVALID_ARGUMENT", "id", "not a global identifier"),
    ('{ product(id: "UHJvZHVjdDox!") { id } }', "INVALID_ARGUMENT", "id", "not a global identifier"),
    ('{ product(id: "ü") { id } }', "INVALID_ARGUMENT", "id", "not a global identifier"),
    (f'{{ product(id: "{global_id("User", 1)}") {{ id }} }}', "INVALID_ARGUMENT", "id", "an id of a Product is needed"),
    (f'{{ product(id: "{global_id("Product", 0)}") {{ id }} }}', "INVALID_ARGUMENT", "id", "Product:0"),
    (f'{{ product(id: "{global_id("Product", 10**20)}") {{ id }} }}', "INVALID_ARGUMENT", "id", "not a global"),
    (f'{{ product(id: "{global_id("Product", 999)}") {{ id }} }}', "NOT_FOUND", "id", "no product 999"),
    (f'{{ node(id: "{global_id("Product", 999)}") {{ id }} }}', "NOT_FOUND", "id", "no product 999"),
    (f'{{ node(id: "{global_id("Review", 1)}") {{ id }} }}', "INVALID_ARGUMENT", "id", "Order, Payment, Product, User"),
    (f'{{ order(id: "{global_id("Order", 999)}") {{ id }} }}', "NOT_FOUND", "id", "no order 999"),
    (f'{{ user(id: "{global_id("User", 999)}") {{ id }} }}', "NOT_FOUND", "id", "no user 999"),
    (f'{{ payment(id: "{global_id("Payment", 999)}") {{ id }} }}', "NOT_FOUND", "id", "no payment 999"),
    ("{ products(first: 0) { edges { cursor } } }", "INVALID_ARGUMENT", "first", "first is 0; 1 to 100 are valid"),
    ("{ products(first: 101) { edges { cursor } } }", "INVALID_ARGUMENT", "first", "1 to 100"),
    ("{ users(first: -1) { edges { cursor } } }", "INVALID_ARGUMENT", "first", "1 to 100"),
    ("{ orderLines(first: 1001) { edges { cursor } } }", "INVALID_ARGUMENT", "first", "1 to 1000"),
    ('{ products(after: "x") { edges { cursor } } }', "INVALID_PAGE_TOKEN", "after", "not a cursor of this list"),
    ('{ products(after: "5.made-up") { edges { cursor } } }', "INVALID_PAGE_TOKEN", "after", "not a cursor"),
    ('{ products(after: "99999.") { edges { cursor } } }', "INVALID_PAGE_TOKEN", "after", "not a cursor"),
    ('{ products(after: "2000.") { edges { cursor } } }', "INVALID_PAGE_TOKEN", "after", "not a cursor"),
    ('{ products(after: "200.x") { edges { cursor } } }', "INVALID_PAGE_TOKEN", "after", "not a cursor"),
    ('{ products(after: "201.") { edges { cursor } } }', "INVALID_PAGE_TOKEN", "after", "not a cursor"),
    ('{ users(after: "201.") { edges { cursor } } }', "INVALID_PAGE_TOKEN", "after", "not a cursor"),
    ('{ orderLines(after: "x") { edges { cursor } } }', "INVALID_ARGUMENT", "after", "not a global identifier"),
    (f'{{ orderLines(after: "{ORDER_1}") {{ edges {{ cursor }} }} }}', "INVALID_ARGUMENT", "after", "OrderLine"),
    ("{ products(first: 1) { edges { node { reviews(first: 21) { id } } } } }", "INVALID_ARGUMENT", "first", "1 to 20"),
    (f'{{ user(id: "{USER_1}") {{ orders(first: 51) {{ edges {{ cursor }} }} }} }}', "INVALID_ARGUMENT", "first", "50"),
]


@pytest.mark.parametrize(("query", "code", "field", "message"), BAD_INPUT, ids=[case[0] for case in BAD_INPUT])
async def test_bad_input_is_named(gateway: Any, query: str, code: str, field: str, message: str) -> None:
    results = await gateway.error(query, partner=True)
    assert results[:2] == (code, field)
    assert says(results[2], message)


async def test_a_cursor_of_another_list_is_refused(gateway: Any) -> None:
    data = await gateway.data('{ products(first: 2, category: "c0000") { pageInfo { endCursor } } }')
    cursor = data["products"]["pageInfo"]["endCursor"]
    code, field, _ = await gateway.error(
        'query ($after: String) { products(first: 2, category: "c0001", after: $after) { edges { cursor } } }',
        {"after": cursor},
    )
    assert (code, field) == ("INVALID_PAGE_TOKEN", "after")


async def test_reading_ahead_follows_fragments_and_variables(gateway: Any) -> None:
    query = """
      query ($n: Int!) { products(first: 2) { ... on ProductConnection { edges { ...e } } } }
      fragment e on ProductEdge { node { ... on Product { reviews(first: $n) { id } } } }
    """
    data = await gateway.data(query, {"n": 2})
    assert [len(edge["node"]["reviews"]) for edge in data["products"]["edges"]] == [2, 2]
    assert gateway.shop.record.methods == ["list_products_with_reviews"]


async def test_a_failed_read_ahead_is_the_fields_error(gateway: Any) -> None:
    # Not repeated, as Unavailable is.
    gateway.shop.record.fail(DeadlineExceeded("the product service was late"), "batch_get_products")
    query = "{ me { orders(first: 1) { edges { node { id payment { status } lines { product { title } } } } } } }"
    answer = await gateway.run(query, user=1)
    node = answer["data"]["me"]["orders"]["edges"][0]["node"]
    assert node["payment"] == {"status": "CAPTURED"}
    assert node["lines"] == [{"product": None}, {"product": None}]
    assert [error["path"][-1] for error in answer["errors"]] == ["product", "product"]
    assert gateway.shop.record.methods.count("batch_get_products") == 1
