"""Depth, aliases, tokens and cost: which documents are accepted, which are refused, and with which message."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from graphql import get_introspection_query, parse, validate

from conforming import says
from graphql_gateway.cost import TARIFF
from graphql_gateways import DOCUMENTS, SCHEMA
from mesh.paths import ROOT
from shop.platform.graphql import cost as cost_model
from shop.platform.graphql.error_format import RequestError
from shop.platform.graphql.limits import MAX_CHARACTERS, MAX_PAIRS, MAX_TOKENS, Shape, check_shape, operations_of

WATCHED = ROOT / "load" / "internal" / "watch" / "documents"
OUR_DOCUMENTS = sorted([*DOCUMENTS.glob("*.graphql"), *WATCHED.glob("*.graphql")])
"""What the load generator and the watchers of updates send."""


def cost(query: str, **variables: object) -> int:
    document = parse(query)
    return TARIFF.measure(SCHEMA, document).of(operations_of(document)[0], variables)


@pytest.mark.parametrize(
    ("query", "depth", "aliases", "pairs"),
    [
        ("{ product(id: 1) { title } }", 2, 0, 0),
        ("{ a: product(id: 1) { b: title title } }", 2, 2, 0),
        ("{ product(id: 1) { title title title } product(id: 1) { a: id title: id } }", 2, 2, 1 + 4 * 3 // 2),
        ("{ product(id: 1) { ...f } } fragment f on Product { price { currency } }", 3, 0, 0),
        ("{ product(id: 1) { ... on Product { price { c: currency } } } }", 3, 1, 0),
        ("{ product(id: 1) { ... { id } ... on Node { id } } }", 2, 0, 1),
        ("{ product(id: 1) { ...f ...f } } fragment f on Product { a: title }", 2, 1, 1),
        ("{ ...f ...g } fragment f on Query { ...g } fragment g on Query { me { id } }", 2, 0, 3),
        ("{ ...f } fragment f on Query { me { id } } fragment f on Query { me { id } }", 2, 0, 1 + 1),
        ("query a($n: Int!) { products(first: $n) { edges { cursor } } } query b { me { id } }", 3, 0, 2 * 2),
        ("{ product(id: 1) { ...unknown } }", 1, 0, 0),
        ("{ ...f } fragment f on Query { ...f }", 0, 0, 1),
        ("{ __schema { types { fields { type { ofType { ofType { ofType { name } } } } } } } }", 1, 0, 3),
    ],
)
def test_shape(query: str, depth: int, aliases: int, pairs: int) -> None:
    assert check_shape(parse(query)) == Shape(depth, aliases, pairs)


@pytest.mark.parametrize("file", OUR_DOCUMENTS, ids=lambda file: file.stem)
def test_our_clients_documents_are_valid_and_far_below_the_limits(file: Path) -> None:
    text = file.read_text()
    assert validate(SCHEMA, parse(text)) == []
    parse(text, max_tokens=MAX_TOKENS // 5)
    assert len(text) < MAX_CHARACTERS / 20
    assert check_shape(parse(text)).pairs < MAX_PAIRS / 100


def test_graphiql_s_query_for_the_whole_schema_is_below_the_limits() -> None:
    text = get_introspection_query(descriptions=True, input_value_deprecation=True, specified_by_url=True, type_depth=9)
    parse(text, max_tokens=MAX_TOKENS // 2)
    assert len(text) < MAX_CHARACTERS / 5
    assert check_shape(parse(text)).pairs < MAX_PAIRS / 5


@pytest.mark.parametrize(
    ("query", "variables", "expected"),
    [
        ("{ product(id: 1) { title } }", {}, 51),
        ("{ products(first: 20) { edges { node { title } } } }", {}, 50 + 20 * 3),
        ("{ products { edges { node { title } } } }", {}, 50 + 20 * 3),
        ("query ($n: Int!) { products(first: $n) { edges { node { title } } } }", {"n": 7}, 50 + 7 * 3),
        ("query ($n: Int! = 9) { products(first: $n) { edges { node { title } } } }", {}, 50 + 9 * 3),
        ("query ($n: Int!) { products(first: $n) { edges { node { title } } } }", {"n": -7}, 50 + 3),
        ("query ($n: Int!) { products(first: $n) { edges { node { title } } } }", {"n": 7.0}, 50 + 7 * 3),
        ("query ($n: Int! = 9) { products(first: $n) { edges { node { title } } } }", {"n": 7}, 50 + 7 * 3),
        ("query ($n: Int) { products(first: $n) { edges { node { title } } } }", {}, 50 + 20 * 3),
        ("query ($n: Int) { products(first: $n) { edges { node { title } } } }", {"n": 7}, 50 + 7 * 3),
        # Execution answers null with an error instead of the field.
        ("query ($n: Int) { products(first: $n) { edges { node { title } } } }", {"n": None}, 50 + 3),
        ("{ products(first: 10) { edges { node { reviews(first: 5) { id title } } } } }", {}, 50 + 10 * (3 + 5 * 2)),
        ("{ me { orders(first: 10) { edges { node { lines { id } } } } } }", {}, 50 + 50 + 10 * (2 + 1 + 100)),
        ("{ a: product(id: 1) { id } b: product(id: 2) { id } }", {}, 102),
        ("{ node(id: 1) { ... on Product { title } ...p } } fragment p on Payment { status }", {}, 52),
        ("mutation { login(input: {email: 1, password: 1}) { token } }", {}, 51),
        ("query a { product(id: 1) { id } } query b { product(id: 1) { id title } }", {}, 51),
        (
            "query a($n: Int! = 2) { ...f } query b($n: Int! = 9) { ...f } fragment f on Query "
            "{ products(first: $n) { edges { cursor } } }",
            {},
            50 + 2 * 2,
        ),
        ("{ orderLines(first: 10) { edges { node { lineNumber } } } }", {}, 50 + 10 * (2 + 4)),
        ("{ __schema { types { name } } }", {}, 2 + len(SCHEMA.type_map)),
        ("{ __schema { types { fields { name } } } }", {}, 2 + len(SCHEMA.type_map) * (1 + 2)),
        ('{ __type(name: "Order") { ofType { name kind ofType { name } } } }', {}, 1 + 6 * (1 + 2 + 1 + 1)),
        ('{ __type(name: "Order") { ofType { ofType { ofType { ofType { name } } } } } }', {}, 1 + 6 * 4),
        ("{ document(id: 1) { sections { title records { text } } } }", {}, 50 + 1 + 260 * (2 + 25)),
        ("{ notifications { position order { id } } }", {}, 50 + 100 * 3),
        ("{ order(id: 1) { lines { order { lines { order { id } } } } } }", {}, 50 + 1 + 100 * (1 + 1 + 100 * (1 + 1))),
        ("{ me { email address { city } } }", {}, 50 + 16 + 16 + 1),
    ],
)
def test_cost(query: str, variables: dict[str, object], expected: int) -> None:
    assert cost(query, **variables) == expected


@pytest.mark.parametrize("value", ["7", [7], {}, True, 7.5, 2**31, 1e300, None])
def test_a_variable_that_execution_refuses_has_no_cost(value: object) -> None:
    query = "query ($n: Int!) { products(first: $n) { edges { cursor } } }"
    for variables in ({"n": value}, {}):
        with pytest.raises(RequestError, match=r"Variable '\$n' has invalid value"):
            cost(query, **variables)


def test_cost_is_known_per_value_of_the_variables_it_depends_on() -> None:
    document = parse("query ($n: Int!, $c: String) { products(first: $n, category: $c) { edges { cursor } } }")
    model, (operation,) = TARIFF.measure(SCHEMA, document), operations_of(document)
    assert [model.of(operation, {"n": number, "c": "x"}) for number in [*range(1, 101), 1]] == [
        50 + number * 2 for number in [*range(1, 101), 1]
    ]


def test_fragments_that_spread_each_other_many_times_are_measured_in_linear_time() -> None:
    chain = "".join(f"fragment f{n} on Product {{ ...f{n + 1} ...f{n + 1} ...f{n + 1} }}" for n in range(25))
    document = parse(f"{{ product(id: 1) {{ ...f0 }} }} {chain} fragment f25 on Product {{ title }}")
    assert check_shape(document).depth == 2
    # The document has so many fields only in theory; execution resolves one field.
    assert TARIFF.measure(SCHEMA, document).of(operations_of(document)[0], {}) == 50 + 3**25


DEEP = """{ products { edges { node { reviews { author {
  orders { edges { node { user { orders { pageInfo { endCursor } } } } } } } } } } } }"""
REFUSED = [
    (DEEP, "depth of 12; the limit is 10"),
    ("{" + "".join(f"a{n}: __typename " for n in range(21)) + "}", "21 aliases; the limit is 20"),
    ("{ product(id: 1) {" + "title " * 1000 + "} }", "more than 500 tokens"),
    ("{ product(id: 1) " * 400 + "}" * 400, "more than 500 tokens"),
    ("{ product(id: " + "[" * 480 + "]" * 480 + ") { id } }", "nested too deeply"),
    ("{a" * 160 + "}" * 160, "depth of 160; the limit is 10"),
    ("{a" * 240 + "}" * 240, "nested too deeply"),
    ("{ product(id: 1) {" + "id title " * 60 + "} }", "has 3540 pairs of fields with the same name"),
    ("{" + "products { edges { node { price { currency } } } }" * 36 + "}", "has 3150 pairs"),
    ("{" + "...f " * 100 + "} fragment f on Query { __typename }", "has 4950 pairs"),
    (
        "".join(f"query q{n} {{ ...f }} " for n in range(40))
        + "fragment f on Query { product(id: ["
        + "$a " * 80
        + "]) { id } }",
        f"has {40 * 80 + 40 * 39 // 2} pairs",
    ),
    ("{ __typename" + " " * 20_000 + "}", "20013 characters; the limit is 16384"),
    (
        "{ products(first: " + "1" * 4400 + ") { edges { cursor } } }",
        "line 1, column 19 has 4400 digits; the limit is 50",
    ),
    ("query ($id: ID = " + "1" * 5000 + ") { product(id: $id) { id } }", "has 5000 digits; the limit is 50"),
    ("mutation { updateProduct(input: {id: 1, stock: " + "1" * 4400 + "}) { product { id } } }", "has 4400 digits"),
    (
        "{ a: __schema { ...s } b: __schema { ...s } } fragment s on __Schema { types { "
        + " ".join(f"a{n}: fields {{ name args {{ name }} type {{ name }} }}" for n in range(18))
        + " } }",
        "the limit is 12000; ask for fewer items",
    ),
    ("{a" * 100 + "}" * 100, "depth of 100; the limit is 10"),
    (
        "{ products(first: 100) { edges { node { reviews(first: 20) { author { id name } id rating title body "
        "a: id b: id c: id d: id e: id f: id g: id h: id } } } } }",
        "the limit is 12000; ask for fewer items (`first`)",
    ),
]


@pytest.mark.parametrize(("query", "message"), REFUSED, ids=[case[1] for case in REFUSED])
async def test_documents_above_a_limit_are_refused_before_anything_runs(gateway: Any, query: str, message: str) -> None:
    code, _, actual = await gateway.error(query, user=1)
    assert code == "RESOURCE_EXHAUSTED"
    assert says(actual, message)
    assert gateway.shop.record.methods == []


async def test_a_variable_can_make_it_too_much(gateway: Any) -> None:
    query = """query ($first: Int!) { orderLines(first: $first) { edges { node {
      id quantity unitPrice { amountMinor currency } product { id title description category stock
      price { amountMinor currency } } order { id status placedAt total { amountMinor currency }
      user { id email name address { recipient street city postalCode countryCode } } } } } } }"""
    await gateway.data(query, {"first": 10}, partner=True)
    code, _, message = await gateway.error(query, {"first": 1000}, partner=True)
    assert code == "RESOURCE_EXHAUSTED"
    assert says(message, "has a cost of 63050; the limit is 16000")


async def test_only_partners_may_ask_for_the_most(gateway: Any) -> None:
    query = "{ products(first: 100) { edges { node { reviews(first: 20) { id rating title body author { id } } } } } }"
    refused = "the operation has a cost of 12350; the limit is 12000; ask for fewer items (`first`) or fields"
    for user in (None, 1):
        code, field, message = await gateway.error(query, user=user)
        assert (code, field) == ("RESOURCE_EXHAUSTED", "")
        assert says(message, refused)
    forged = await gateway.post({"query": query}, authorization="Bearer nobody")
    assert forged.json()["errors"][0]["extensions"]["code"] == "RESOURCE_EXHAUSTED"
    await gateway.data(query, partner=True)


FAN_OUT = "".join(f"fragment f{n} on Order {{ ...f{n + 1} ...f{n + 1} }} " for n in range(30)) + (
    "fragment f30 on Order { id }"
)


@pytest.mark.parametrize("first", [1, pytest.param(1.0, marks=pytest.mark.ours)])
@pytest.mark.parametrize("user", [1, None])
async def test_fragments_in_each_other_are_never_followed_one_by_one(
    gateway: Any, first: float, user: int | None
) -> None:
    fields = 'order(id: "T3JkZXI6MQ==") { ...f0 } products(first: $n) { edges { cursor } }'
    began = time.thread_time()
    code, _, message = await gateway.error(f"query ($n: Int!) {{ {fields} }} {FAN_OUT}", {"n": first}, user=user)
    assert time.thread_time() - began < 1
    assert code == "RESOURCE_EXHAUSTED"
    assert says(message, "the limit is 12000")


async def test_each_fragment_is_analysed_once(gateway: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost_model, "MAX_COST", 2**40)
    began = time.thread_time()
    data = await gateway.data(f'{{ order(id: "T3JkZXI6MQ==") {{ ...f0 }} }} {FAN_OUT}', user=1)
    assert time.thread_time() - began < 1
    assert data == {"order": {"id": "T3JkZXI6MQ=="}}


async def test_an_omitted_variable_costs_what_it_fetches(gateway: Any) -> None:
    query = "query ($n: Int) { products(first: $n) { edges { node { id } } } }"
    assert len((await gateway.data(query))["products"]["edges"]) == 20


async def test_introspection_into_itself_is_refused(gateway: Any) -> None:
    query = "{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }"
    assert (await gateway.error(query))[0] == "INVALID_ARGUMENT"
