"""The variant without loaders gives the same answers, with a call for each read."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from graphql_gateway.app import build_app
from graphql_gateway.objects.global_id import global_id
from graphql_gateways import DOCUMENTS, GatewayClient, serving
from memory_shop import MemoryShop
from shop.platform.access.rules import Authenticator
from shop.platform.incoming import Incoming

OF_HISTORY = {"list_orders_by_user": 1, "batch_get_payments_by_order": 10, "get_product": 20}
CASES: list[tuple[str, dict[str, Any], bool, dict[str, int]]] = [
    ("browse", {"category": "c0001"}, False, {"list_products": 1, "batch_list_reviews": 20}),
    ("order_history", {"first": 10}, False, OF_HISTORY),
    ("order_status", {"id": global_id("Order", 4)}, True, {"get_order": 1, "batch_get_payments_by_order": 1}),
    ("product", {"id": global_id("Product", 7)}, False, {"get_product": 1}),
    ("profile", {}, False, {"get_user": 1}),
]


@pytest.fixture
async def naive_gateway(shop: MemoryShop, signer: Any, verifier: Any) -> AsyncIterator[GatewayClient]:
    """A gateway that reads item by item."""
    async with serving(build_app(shop.clients, Incoming(Authenticator(verifier)), loaders=False)) as http:
        yield GatewayClient(http, signer, shop)


@pytest.mark.parametrize(("name", "variables", "partner", "calls"), CASES, ids=[case[0] for case in CASES])
async def test_the_answers_are_the_same_and_the_calls_are_many(
    gateway: Any, naive_gateway: Any, name: str, variables: dict[str, Any], partner: bool, calls: dict[str, int]
) -> None:
    asked = {"user": None if partner else 1, "partner": partner}
    document = (DOCUMENTS / f"{name}.graphql").read_text()
    answer = await gateway.data(document, variables, **asked)
    assert await naive_gateway.data(document, variables, **asked) == answer
    assert Counter(naive_gateway.shop.record.methods) == calls


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ('{ product(id: "UHJvZHVjdDo5OTk5OTk=") { id title } }', ["product"]),
        ('{ user(id: "VXNlcjo5OTk5OTk=") { id name } }', ["user"]),
        ('{ order(id: "T3JkZXI6OTk5OTk5") { id } }', ["order"]),
    ],
)
async def test_missing_things(naive_gateway: Any, query: str, path: list[str]) -> None:
    answer = await naive_gateway.run(query, partner=True)
    assert answer["data"] == {path[0]: None}
    assert [(error["path"], error["extensions"]["code"]) for error in answer["errors"]] == [(path, "NOT_FOUND")]
