"""The short way through execution gives the very answers that the general way gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from graphql.execution import Executor

from graphql_gateway.context import Context
from graphql_gateway.documents import prepare
from graphql_gateway.execution import Execution
from graphql_gateway.global_id import global_id
from graphql_gateway.loaders import Loaders
from graphql_gateway.schema import build_schema
from graphql_gateway.shortcuts import shortcuts_of
from shop.clients.memory import MemoryShop
from shop.money import Money
from shop.platform.auth import Principal, TokenSigner, TokenVerifier

PRODUCT = global_id("Product", 1)
QUERIES = [
    "{ products(first: 3) { edges { cursor node { id title stock price { currency } reviews { id rating } } } } }",
    "{ products(first: 3) { edges { node { __typename id price { __typename currency } reviews { __typename } } } } }",
    "{ products(first: 3) { pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }",
    "{ products(first: 2) { edges { node { a: title b: title price { currency } price { amountMinor } } } } }",
    "{ products(first: 2) { edges { node { ...f ... on Product { stock } } } } } fragment f on Product { title stock }",
    "{ products(first: 2) { edges { node { title @skip(if: true) stock price @include(if: false) { currency } } } } }",
    "query ($no: Boolean = false) { products(first: 2) { edges { node { price { currency @include(if: $no) } } } } }",
    f'{{ node(id: "{PRODUCT}") {{ id ... on Product {{ title price {{ amountMinor }} }} ... on User {{ name }} }} }}',
    "{ me { id name orders(first: 2) { edges { node { status placedAt payment { status amount { currency } } "
    "lines { id lineNumber quantity unitPrice { amountMinor } product { id title } "
    "order { id total { currency } } } } } } } }",
    "{ me { email address { city countryCode } } }",
    'mutation { updateProfile(input: {name: "N"}) { user { id name } } }',
    f'{{ product(id: "{PRODUCT}") {{ title }} other: product(id: "{global_id("Product", 999)}") {{ title }} }}',
    "{ products(first: 2) { edges { node { reviews { author { name email } } } } } }",
    "{ products(first: 2) { edges { node { reviews(first: 99) { id } } } } }",
]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("broken", [False, True], ids=["", "with broken data"])
async def test_both_ways_agree(
    shop: MemoryShop, signer: TokenSigner, verifier: TokenVerifier, query: str, broken: bool
) -> None:
    if broken:
        # What no service should give: a null where none is allowed, a number beyond 32 bits, a text for a number.
        shop.store.products[1] = replace(shop.store.products[1], title=None)  # type: ignore[arg-type]
        shop.store.products[2] = replace(shop.store.products[2], stock="many", price=Money(1, 7))  # type: ignore[arg-type]
        shop.store.reviews[1] = replace(shop.store.reviews[1], rating=2**31)
        shop.store.payments[46] = replace(shop.store.payments[46], status="LOST")  # type: ignore[arg-type]
    schema = build_schema()
    answers = []
    for executor in (None, Executor[Any]):
        prepared = prepare(schema._schema, query)
        token = f"Bearer {signer.sign(Principal('customer', 1))}"
        context = Context(shop.clients, Loaders(shop.clients), verifier, token)
        result = await Execution(schema, executor).run(prepared, prepared.operation(None), {}, context)
        errors = sorted(str(error.formatted) for error in result.errors or ())
        answers.append((result.data, list(result.data) if result.data else None, errors))

    assert answers[0] == answers[1]


def test_what_is_taken_the_short_way() -> None:
    fields = shortcuts_of(build_schema()).fields

    assert set(fields["Product"]) == {"id", "title", "description", "category", "price", "stock"}
    assert set(fields["OrderLine"]) == {"id", "lineNumber", "quantity", "unitPrice"}
    assert set(fields["User"]) == {"id", "name"}
    assert set(fields["Query"]) == set()
