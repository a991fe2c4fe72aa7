"""Persisted queries by SHA-256."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

QUERY = "query q($id: ID!) { product(id: $id) { title } }"
VARIABLES = {"id": "UHJvZHVjdDox"}


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def by_hash(text: str) -> dict[str, Any]:
    return {"persistedQuery": {"version": 1, "sha256Hash": sha256(text)}}


async def test_a_hash_is_unknown_until_its_text_came(gateway: Any) -> None:
    body = {"extensions": by_hash(QUERY), "variables": VARIABLES}
    first = await gateway.post(body)
    assert first.status_code == 200
    assert first.json()["errors"] == [
        {"message": "PersistedQueryNotFound", "extensions": {"code": "PERSISTED_QUERY_NOT_FOUND"}}
    ]

    for request in (body | {"query": QUERY}, body, body):
        answer = (await gateway.post(request)).json()
        assert answer == {"data": {"product": {"title": "Product 1"}}}


async def test_a_hash_of_another_text_is_refused(server: Any) -> None:
    response = await server.post({"query": "{ __typename }", "extensions": by_hash(QUERY)})
    error = response.json()["errors"][0]

    assert error["extensions"] == {"code": "INVALID_ARGUMENT", "field": "extensions.persistedQuery.sha256Hash"}


async def test_a_document_that_is_not_valid_is_not_kept(server: Any) -> None:
    bad = "{ nothing }"
    answer = (await server.post({"query": bad, "extensions": by_hash(bad)})).json()
    assert answer["errors"][0]["extensions"]["code"] == "INVALID_ARGUMENT"
    answer = (await server.post({"extensions": by_hash(bad)})).json()
    assert answer["errors"][0]["extensions"]["code"] == "PERSISTED_QUERY_NOT_FOUND"


async def test_the_limits_hold_for_persisted_queries(gateway: Any) -> None:
    query = "query ($n: Int!) { orderLines(first: $n) { edges { node { " + "id quantity " * 13 + "} } } }"
    extensions = by_hash(query)
    answer = (
        await gateway.post({"query": query, "extensions": extensions, "variables": {"n": 1}}, partner=True)
    ).json()
    assert "errors" not in answer
    answer = (await gateway.post({"extensions": extensions, "variables": {"n": 1000}}, partner=True)).json()
    assert answer["errors"][0]["extensions"]["code"] == "RESOURCE_EXHAUSTED"


@pytest.mark.parametrize(
    "persisted",
    [
        "x",
        {},
        {"version": 2, "sha256Hash": sha256(QUERY)},
        {"version": 1},
        {"version": 1, "sha256Hash": 5},
        {"version": 1, "sha256Hash": "abc"},
        {"version": 1, "sha256Hash": sha256(QUERY).upper()},
    ],
    ids=str,
)
async def test_malformed_hashes(server: Any, persisted: object) -> None:
    response = await server.post({"extensions": {"persistedQuery": persisted}})

    assert response.status_code == 400
    assert response.json()["errors"][0]["extensions"]["code"] == "INVALID_ARGUMENT"
