"""Lists read ahead what their items need: exactly the necessary calls, and failures where they belong."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from graphql_gateway.loaders import BatchedReads
from graphql_gateway.objects.global_id import global_id
from memory_shop import Data, MemoryShop
from shop.errors import Unavailable

HISTORY = (
    "query ($n: Int!) { me { orders(first: $n) { edges { node { payment { id } lines { product { title } } } } } } }"
)
PRODUCTS, REVIEWED = ["list_products"], ["list_products_with_reviews"]


async def tasks_of(request: Coroutine[Any, Any, Any]) -> int:
    started = 0
    loop = asyncio.get_running_loop()

    def note(loop: asyncio.AbstractEventLoop, coro: Any, **kwargs: Any) -> asyncio.Task[Any]:
        nonlocal started
        started += 1
        return asyncio.Task(coro, loop=loop, **kwargs)

    loop.set_task_factory(note)
    try:
        await request
    finally:
        loop.set_task_factory(None)
    return started


@pytest.mark.ours
@pytest.mark.parametrize(
    "query", ["query ($n: Int!) { products(first: $n) { edges { node { reviews { id } } } } }", HISTORY]
)
async def test_items_resolve_without_a_task_each(gateway: Any, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    monkeypatch.setattr("shop.platform.graphql.execution.NOTICED_AFTER_S", 60)  # which would be a task more
    assert await tasks_of(gateway.data(query, {"n": 2}, user=1)) == await tasks_of(
        gateway.data(query, {"n": 10}, user=1)
    )


@pytest.mark.parametrize(
    ("selection", "variables", "calls"),
    [
        ("id", {}, PRODUCTS),
        ("...on Product { ...r }", {}, REVIEWED),
        ("...on Node { id } reviews { id } more: reviews(first: $n) { id }", {"n": 5}, REVIEWED),
        ("reviews(first: $n) { id }", {}, REVIEWED),
        ("reviews @skip(if: $yes) { id }", {"yes": True}, PRODUCTS),
        ("reviews @include(if: $yes) { id }", {"yes": True}, REVIEWED),
        ("...r @include(if: $yes)", {"yes": False}, PRODUCTS),
        ("... @skip(if: true) { reviews { id } }", {}, PRODUCTS),
    ],
)
async def test_only_selected_fields_are_read(
    gateway: Any, selection: str, variables: dict[str, Any], calls: list[str]
) -> None:
    used = "".join(
        f"${name}: {kind} " for name, kind in (("n", "Int! = 2"), ("yes", "Boolean!")) if f"${name}" in selection
    )
    spread = "fragment r on Product { reviews { id } }" if "...r" in selection else ""
    head = f"query ({used})" if used else "query"
    query = f"{head} {{ products(first: 2) {{ edges {{ node {{ {selection} }} }} }} }} {spread}"
    data = await gateway.data(query, variables)
    assert len(data["products"]["edges"]) == 2
    assert gateway.shop.record.methods == calls


@pytest.mark.parametrize("first", [0, 21])
async def test_a_length_that_is_refused_is_not_read(gateway: Any, first: int) -> None:
    query = f"{{ products(first: 2) {{ edges {{ node {{ reviews(first: {first}) {{ id }} }} }} }} }}"
    code, field, _ = await gateway.error(query)
    assert (code, field) == ("INVALID_ARGUMENT", "first")
    assert gateway.shop.record.methods == ["list_products"]


async def test_a_failure_is_reported_once_where_null_is_not_allowed(gateway: Any) -> None:
    gateway.shop.record.fail(Unavailable("product does not answer"), "list_products_with_reviews")
    answer = await gateway.run("{ products(first: 3) { edges { node { id reviews { id } } } } }")
    assert answer["data"] is None
    assert [(error["path"], error["extensions"]["code"]) for error in answer["errors"]] == [
        (["products"], "UNAVAILABLE")
    ]


async def test_a_failure_is_reported_for_each_item_where_null_is_allowed(gateway: Any) -> None:
    gateway.shop.record.fail(Unavailable("payment does not answer"), "batch_get_payments_by_order")
    answer = await gateway.run(HISTORY, {"n": 2}, user=1)
    nodes = [edge["node"] for edge in answer["data"]["me"]["orders"]["edges"]]
    assert [node["payment"] for node in nodes] == [None, None]
    assert all(line["product"]["title"] for node in nodes for line in node["lines"])
    assert sorted((error["path"], error["extensions"]["code"]) for error in answer["errors"]) == [
        (["me", "orders", "edges", place, "node", "payment"], "UNAVAILABLE") for place in (0, 1)
    ]


FIELDS = [
    "{ order(id: $order) { ...lines } }",
    "{ node(id: $order) { ...lines } }",
    "{ user(id: $user) { orders { edges { node { ...lines } } } } }",
    "{ payment(id: $payment) { order { ...lines } } }",
    "{ orderLines(first: 2) { edges { node { order { ...lines } } } } }",
    "{ orderLines(first: 2) { edges { node { product { ...p } } } } }",
    'mutation { cancelOrder(input: {id: "T3JkZXI6NA=="}) { order { ...lines } } }',
    'mutation { updateOrderStatus(input: {id: "T3JkZXI6NA==", status: SHIPPED}) { order { ...lines } } }',
    'mutation { checkout(input: {idempotencyKey: "k", lines: [{productId: "UHJvZHVjdDox", quantity: 1}], '
    'paymentToken: "tok_ok", userId: "VXNlcjox"}) { order { ...lines } } }',
]


@pytest.mark.parametrize(("product", "calls"), [("id", 0), ("id title", 1)])
@pytest.mark.parametrize("operation", FIELDS)
async def test_products_of_lines_are_read_once_and_only_if_more_than_their_id_is_selected(
    gateway: Any, operation: str, product: str, calls: int
) -> None:
    for name in ("order", "user", "payment"):
        operation = operation.replace(f"${name}", f'"{global_id(name.capitalize(), 1)}"')
    lines = "fragment lines on Order { lines { product { ...p } } }" if "...lines" in operation else ""
    await gateway.data(f"{operation} {lines} fragment p on Product {{ {product} }}", partner=True)
    assert gateway.shop.record.methods.count("batch_get_products") == calls


async def test_each_part_of_a_query_gets_its_own_selection_of_an_order(gateway: Any) -> None:
    query = """query ($id: ID!) {
      ids: order(id: $id) { lines { product { id } } }
      titles: order(id: $id) { lines { product { title } } }
      again: order(id: $id) { lines { product { id } } } }"""
    data = await gateway.data(query, {"id": global_id("Order", 1)}, user=1)
    ids = {"lines": [{"product": {"id": global_id("Product", number)}} for number in (8, 9)]}
    assert data["ids"] == data["again"] == ids
    assert data["titles"] == {"lines": [{"product": {"title": f"Product {number}"}} for number in (8, 9)]}
    assert gateway.shop.record.methods == ["batch_get_orders", "batch_get_products"]


async def test_a_cancelled_request_cancels_its_calls() -> None:
    shop = MemoryShop(Data.demo())
    begun, ended = asyncio.Event(), asyncio.Event()

    async def wait_for_ever(_method: str) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    shop.record.on_call = wait_for_ever
    reading = asyncio.create_task(BatchedReads(shop.clients).ahead(products=[1, 2, 3]))
    await begun.wait()
    reading.cancel()
    async with asyncio.timeout(5):
        await ended.wait()

    with pytest.raises(asyncio.CancelledError):
        await reading


async def test_a_failed_read_ahead_is_left_to_the_resolver() -> None:
    shop = MemoryShop(Data.demo())
    shop.record.fail(Unavailable("product does not answer"))
    reads = BatchedReads(shop.clients)
    await reads.ahead(products=[1, 2], payments_of_orders=[1])
    for reading in (reads.product(1), reads.product(2), reads.payment_of_order(1)):
        with pytest.raises(Unavailable):
            await reading
    assert shop.record.methods == ["batch_get_products", "batch_get_payments_by_order"]
