"""Routers' access to subgraphs: who may read what by its key, and what the supergraph says about the subgraphs."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
from graphql import GraphQLObjectType, build_schema, get_named_type

from memory_shop import Data, MemoryShop
from mesh.paths import ROOT
from served_shop import served_service
from shop.platform.access.jwt import Principal, TokenSigner
from shop.platform.config import EDGE_MARK
from shop.platform.graphql.supergraph import SUBGRAPHS, differences

SUPERGRAPH = ROOT / "mesh" / "router" / "supergraph.graphql"
EDGE = "spiffe://cluster.local/ns/default/sa/edge"
ASK = "query ($of: [_Any!]!) { _entities(representations: $of) { ... on %s } }"
OWN, OTHER = 1, 2
"""The customer of the first order and of its payment, and another customer."""


class Subgraphs:
    def __init__(self, shop: MemoryShop, at: Mapping[str, str], http: httpx.AsyncClient, signer: TokenSigner) -> None:
        self.shop = shop
        self._at = at
        self._http = http
        self._signer = signer

    def token(self, kind: Any, number: int) -> dict[str, str]:
        return {"authorization": f"Bearer {self._signer.sign(Principal(kind, number))}"}

    async def ask(self, name: str, document: str, headers: Mapping[str, str] | None = None, **variables: Any) -> Any:
        body = {"query": document, "variables": variables}
        return (await self._http.post(f"http://{self._at[name]}/graphql", json=body, headers=headers)).json()


@pytest.fixture(scope="module")
async def subgraphs(keys: Any, signer: TokenSigner) -> AsyncIterator[Subgraphs]:
    """Subgraphs of a shop whose callers have identities, as in a mesh with mTLS."""
    shop = MemoryShop(Data.demo())
    async with AsyncExitStack() as stack:
        at = {
            name: (
                await stack.enter_async_context(
                    served_service(name, shop.use_cases(name), keys.public_file, ["federation"], edge_identity=EDGE)
                )
            )["federation"]
            for name in SUBGRAPHS
        }
        http = await stack.enter_async_context(httpx.AsyncClient(trust_env=False))
        yield Subgraphs(shop, at, http, signer)


def codes(answer: Any) -> list[str]:
    return [error["extensions"]["code"] for error in answer.get("errors", ())]


PRIVATE = [
    ("order", "Order", "Order { total { amountMinor } }"),
    ("user", "User", "User { email }"),
    ("payment", "Order", "Order { payment { amount { amountMinor } } }"),
]


@pytest.mark.parametrize(("name", "kind", "selection"), PRIVATE)
async def test_only_its_customer_and_partners_read_a_thing_by_its_key(
    subgraphs: Subgraphs, name: str, kind: str, selection: str
) -> None:
    asked = {"of": [{"__typename": kind, "id": OWN}]}
    document = ASK % selection
    mesh_caller = {"x-forwarded-client-cert": f"By={EDGE};URI=spiffe://cluster.local/ns/default/sa/graphql-gateway"}
    # A router's certificate gives access to nothing: the token of its client counts.
    for headers in ({}, mesh_caller, mesh_caller | {EDGE_MARK: "192.0.2.7"}):
        assert codes(await subgraphs.ask(name, document, headers, **asked)) == ["UNAUTHENTICATED"]
    refused = await subgraphs.ask(name, document, mesh_caller | subgraphs.token("customer", OTHER), **asked)
    missing = await subgraphs.ask(
        name, document, subgraphs.token("partner", 1), of=[{"__typename": kind, "id": 99_999}]
    )
    assert "errors" not in refused
    assert refused == missing, "what is another customer's looks as if it did not exist"
    for headers in (subgraphs.token("customer", OWN), subgraphs.token("partner", 1)):
        [entities] = (await subgraphs.ask(name, document, headers, **asked))["data"]["_entities"]
        assert None not in entities.values()


async def test_everybody_reads_products_by_their_keys_in_one_call(subgraphs: Subgraphs) -> None:
    asked = [{"__typename": "Product", "id": number} for number in (3, 1, 99_999, 3)]
    subgraphs.shop.record.calls.clear()
    answer = await subgraphs.ask("product", ASK % "Product { id title }", of=asked)
    assert [thing and thing["id"] for thing in answer["data"]["_entities"]] == [3, 1, None, 3]
    assert len(subgraphs.shop.record.calls) == 1


@pytest.mark.parametrize(
    "representation",
    [
        {"__typename": "Product", "id": 1},
        {"__typename": "User"},
        {"__typename": "User", "id": "1"},
        {"__typename": "User", "id": True},
        {"__typename": "User", "id": [1]},
        {"__typename": "Query", "id": 1},
        {"__typename": ["User"], "id": 1},
        "User",
        None,
    ],
)
async def test_an_invalid_key_is_refused(subgraphs: Subgraphs, representation: Any) -> None:
    answer = await subgraphs.ask("user", ASK % "User { id }", subgraphs.token("partner", 1), of=[representation])
    assert codes(answer) == ["INVALID_ARGUMENT"]


async def test_costly_documents_are_refused_before_anything_runs(subgraphs: Subgraphs) -> None:
    subgraphs.shop.record.calls.clear()
    reviews = "reviews { id rating title body userId productId }"
    page = f"{{ productPageWithReviews(pageSize: 1000, reviewLimit: 20) {{ products {{ id title {reviews} }} }} }}"
    assert codes(await subgraphs.ask("product", page)) == ["RESOURCE_EXHAUSTED"]
    product = {"__typename": "Product", "id": 1}
    document = ASK % "Product { id title description category stock price { amountMinor currency } }"
    assert codes(await subgraphs.ask("product", document, of=[product] * 1_500)) == ["RESOURCE_EXHAUSTED"]
    assert subgraphs.shop.record.calls == []
    # Ten orders of a hundred lines have as many products.
    assert codes(await subgraphs.ask("product", document, of=[product] * 1_000)) == []


def test_the_committed_supergraph_is_that_of_the_subgraphs() -> None:
    assert list(differences(SUPERGRAPH.read_text())) == []


@pytest.mark.parametrize(
    ("old", "new", "difference"),
    [
        (r"  email: String! @join__field\(graph: USER\)\n", "", r"User\.email was removed"),
        (
            r"(stock: Long! @join__field\(graph: )PRODUCT",
            r"\1ORDER",
            r"Product\.stock: only one of subgraph and supergraph says that product serves it",
        ),
        (r"  CANCELLED @.*\n", "", r"CANCELLED was removed"),
        (r"(userId: Long!, )(pageSize)", r"\1first: Long!, \2", r"ordersByUser\(first:\)"),
    ],
)
def test_a_stale_supergraph_is_noticed(old: str, new: str, difference: str) -> None:
    stale, count = re.subn(old, new, SUPERGRAPH.read_text(), count=1)
    assert count == 1
    assert any(re.search(difference, line) for line in differences(stale)), list(differences(stale))


def test_no_document_can_be_nested_without_end() -> None:
    """Types form no cycles, so that routers need no limit on depth."""
    schema = build_schema(SUPERGRAPH.read_text(), assume_valid=True)
    objects = {name: one for name, one in schema.type_map.items() if isinstance(one, GraphQLObjectType)}

    def follow(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, " -> ".join((*above, name))
        for field in objects[name].fields.values() if name in objects else ():
            follow(get_named_type(field.type).name, (*above, name))

    follow("Query", ())
    follow("Mutation", ())
