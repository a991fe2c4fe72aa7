"""No answer has more fields than its document costs: a search over documents, on data with the longest lists.

Documents grow at random from the schema until they cost nearly as much as is allowed. The search is seeded.

    MAX_ANSWERS=1000 .venv/bin/pytest -q -n0 graphql-gateway/tests/unit/test_largest_answers.py
"""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
from graphql import GraphQLField, GraphQLObjectType, GraphQLSchema, get_introspection_query, get_named_type

from graphql_gateway.cost import TARIFF
from graphql_gateway.objects.global_id import global_id
from graphql_gateway.schema import build_schema
from graphql_gateways import DOCUMENTS, SCHEMA, fields_of
from memory_shop import Data
from shop.errors import ShopError
from shop.platform.graphql.cost import max_cost
from shop.platform.graphql.documents import parse_document, prepare_document
from shop.platform.graphql.execution import returns_list
from shop.platform.graphql.schema import core_schema
from shop.values.notification import KEPT
from shop.values.order import MAX_LINES

SEARCHED = int(os.environ.get("MAX_ANSWERS", "20"))
STEPS = 30
SCHEMAS = {True: SCHEMA, False: core_schema(build_schema(updates=False))}
"""The gateway's schemas, with updates and without."""
LONGEST = {"products": 100, "users": 100, "orders": 50, "orderLines": 1_000, "reviews": 20}
KINDS = {"product": "Product", "user": "User", "payment": "Payment", "document": "Document"}
REFUSED = {True: {"me"}, False: {"users", "orderLines"}}
"""Fields from which partners and customers get only an error."""
LARGEST = [
    "query ($id: ID!) { order(id: $id) { lines { order { lines { id } } } } }",
    "{ me { orders(first: 20) { edges { node { lines { quantity product { title } } } } } } }",
    (DOCUMENTS / "document.graphql").read_text(),
    get_introspection_query(descriptions=True),
    '{ __type(name: "Query") { fields { name args { name type { name ofType { name } } } } } }',
    "{ __schema { queryType { fields { name args { name } } } } }",
    "{ __schema { types { fields { type { ofType { fields { name args { name type { name } } } } } } } } }",
]
RECURSIVE = [
    "query ($id: ID!) { order(id: $id) { lines { order { lines { order { lines { order { id } } } } } } } }",
    "{ notifications { order { lines { order { lines { order { id } } } } } } }",
]


class Selection:
    def __init__(self, text: str, returned: Any) -> None:
        self.text = text
        self.type = get_named_type(returned)
        self.inner: list[Selection] = []

    def __str__(self) -> str:
        inside = " ".join(map(str, self.inner)) or ("__typename" if is_object(self.type) else "")
        return f"{self.text} {{ {inside} }}" if inside else self.text

    def objects(self) -> list[Selection]:
        """Returns this selection and the objects inside it, without leaves."""
        return [self, *[one for inner in self.inner if is_object(inner.type) for one in inner.objects()]]


def grown(schema: GraphQLSchema, seed: int, *, is_partner: bool) -> str:
    draws = random.Random(seed)
    root = Selection("query", schema.query_type)
    for number in range(STEPS):
        parent = draws.choice(root.objects())
        fields = {name: field for name, field in parent.type.fields.items() if name not in REFUSED[is_partner]}
        name = draws.choices(list(fields), [weight(field) for field in fields.values()])[0]
        alias = f"a{number}: " if any(name in one.text for one in parent.inner) else ""
        parent.inner.append(Selection(f"{alias}{name}{arguments(draws, name, fields[name])}", fields[name].type))
        if not is_allowed(schema, str(root), is_partner=is_partner):
            parent.inner.pop()
    return str(root)


def is_object(named: Any) -> bool:
    return hasattr(named, "fields")


def weight(field: GraphQLField) -> int:
    """Returns how often a field is drawn: lists most often, as leaves alone make no large answers."""
    return 1 + 2 * is_object(get_named_type(field.type)) + 3 * returns_list(field)


def arguments(draws: random.Random, name: str, field: GraphQLField) -> str:
    if "first" in field.args:
        return f"(first: {draws.choice([1, 5, LONGEST[name]])})"
    if "id" in field.args:
        return f'(id: "{global_id(KINDS.get(name, "Order"), 1)}")'
    return f'(userId: "{global_id("User", 1)}")' if "userId" in field.args else ""


def is_allowed(schema: GraphQLSchema, text: str, *, is_partner: bool) -> bool:
    try:
        cost, limit = price(schema, text, is_partner=is_partner)
    except ShopError:  # another limit
        return False
    return cost <= limit


def price(schema: GraphQLSchema, text: str, *, is_partner: bool = False) -> tuple[int, int]:
    prepared = prepare_document(schema, parse_document(text), TARIFF.measure)
    operation = prepared.operation(None)
    return prepared.cost.of(operation, {}), max_cost(operation, is_partner=is_partner)


@pytest.fixture
async def largest(gateway: Any) -> Any:
    """The gateway over the largest orders, the most reviews and a full mailbox."""
    gateway.shop.fill(Data.largest())
    for _ in range(KEPT):
        await gateway.shop.notifications.tell()
    return gateway


async def answer_of(gateway: Any, text: str, variables: dict[str, Any] | None = None, *, partner: bool = False) -> Any:
    body = {"query": text, "variables": variables}
    return (await gateway.post(body, user=1, partner=partner, x_envoy_expected_rq_timeout_ms="30000")).json()


@pytest.mark.parametrize("seed", range(SEARCHED))
async def test_no_answer_has_more_fields_than_its_document_costs(largest: Any, seed: int) -> None:
    schema, is_partner = SCHEMAS[not largest.is_program], seed % 2 == 1
    text = grown(schema, seed, is_partner=is_partner)
    fields = fields_of((await answer_of(largest, text, partner=is_partner))["data"])
    cost, _ = price(schema, text)
    print(f"{fields} fields at a cost of {cost}: {text}")
    assert 0 < fields <= cost


@pytest.mark.parametrize("text", LARGEST, ids=range(len(LARGEST)))
async def test_no_answer_to_the_largest_documents_has_more(largest: Any, text: str) -> None:
    variables = {"id": global_id("Document" if "document" in text else "Order", 1)}
    answer = await answer_of(largest, text, variables)
    assert "errors" not in answer
    fields = fields_of(answer["data"])
    cost, _ = price(SCHEMAS[False], text)
    assert cost / 20 < fields <= cost


@pytest.mark.parametrize("text", RECURSIVE)
async def test_lists_in_lists_of_the_same_objects_are_refused_before_they_run(gateway: Any, text: str) -> None:
    if gateway.is_program and "notifications" in text:
        pytest.skip("version 1 of the contract has no notifications")
    code, _, _ = await gateway.error(text, {"id": global_id("Order", 1)} if "$id" in text else None, user=1)
    assert code == "RESOURCE_EXHAUSTED"
    assert gateway.shop.record.methods == []


async def test_an_answer_that_outgrows_its_cost_is_cut_off(gateway: Any) -> None:
    gateway.shop.fill(Data.largest(lines=3 * MAX_LINES))
    answer = await gateway.run(
        "query ($id: ID!) { order(id: $id) { lines { id } } }", {"id": global_id("Order", 1)}, user=1
    )
    assert [error["extensions"]["code"] for error in answer["errors"]] == ["RESOURCE_EXHAUSTED"]
    assert not answer.get("data")


def test_every_list_without_first_has_a_length() -> None:
    lists = {
        (named.name, name)
        for named in SCHEMAS[True].type_map.values()
        if isinstance(named, GraphQLObjectType) and not named.name.startswith("__")
        for name, field in named.fields.items()
        if returns_list(field) and "first" not in field.args and not named.name.endswith("Connection")
    }
    assert lists == set(TARIFF.items)
