"""Before any call, the gateway in Go refuses the same documents as the gateway in Python, by the same limits."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import HealthCheck, Phase, assume, given, settings
from test_costly_documents import HONEST, REPEATED, documents
from test_limits import REFUSED

from conforming import ProgramUnderTest
from graphql_gateway.cost import TARIFF
from graphql_gateway.schema import build_schema
from provision import golang
from shop.errors import ResourceExhausted, ShopError
from shop.platform.graphql.cost import max_cost
from shop.platform.graphql.documents import parse_document, prepare_document
from shop.platform.graphql.error_format import RequestError
from shop.platform.graphql.limits import MAX_TOKENS
from shop.platform.graphql.schema import core_schema
from shop.platform.http.body import MAX_BYTES

SCHEMA = core_schema(build_schema(updates=False))
RUNS, INVALID = "it runs", "it is not valid"
TOO_LONG = f"the document has more than {MAX_TOKENS} tokens, which is the limit"
FIXED = [*HONEST, *[query for query, _ in REFUSED], *[repeat(n) for repeat in REPEATED.values() for n in (1, 10, 100)]]
CLOSED = "grpc://127.0.0.1:1"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("go")
    key = folder / "public.pem"
    pem = Ed25519PrivateKey.generate().public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    key.write_bytes(pem)
    env = {f"SHOP_PEER_{name}": CLOSED for name in ("PRODUCT", "ORDER", "USER", "PAYMENT")}
    argv = (str(golang.build_service("graphql-gateway")),)
    program = ProgramUnderTest("graphql-gateway", argv, ("http",))
    with (
        program.started("http", {**env, "SHOP_JWT_PUBLIC_KEY_FILE": str(key)}, folder) as address,
        httpx.Client(base_url=f"http://{address}", trust_env=False, timeout=60) as client,
    ):
        yield client


def verdict(text: str) -> str:
    """Returns the verdict of the gateway in Python on a document whose variables have no values."""
    try:
        prepared = prepare_document(SCHEMA, parse_document(text), TARIFF.measure)
        operation = prepared.operation(None)
        cost = prepared.cost.of(operation, {})
    except ResourceExhausted as error:
        return error.message
    except RequestError as error:
        return of_invalid(error.errors[0].message)
    except ShopError:
        return INVALID
    most = max_cost(operation, is_partner=False)
    limit = f"the operation has a cost of {cost}; the limit is {most}; ask for fewer items (`first`) or fields"
    return RUNS if cost <= most else limit


def verdict_in_go(gateway: httpx.Client, text: str) -> str:
    # On a busy machine, a new document waits for seconds after an expensive document.
    headers = {"accept": "application/graphql-response+json", "x-envoy-expected-rq-timeout-ms": "30000"}
    response = gateway.post("/graphql", json={"query": text}, headers=headers)
    answer = response.json()
    first = answer.get("errors", [{"extensions": {"code": ""}}])[0]
    if first["extensions"]["code"] == "RESOURCE_EXHAUSTED":
        return str(first["message"])
    # An error of a variable has its path.
    is_variable = first.get("path", [""])[0] == "variable"
    return INVALID if response.status_code == 400 and not is_variable else RUNS


def of_invalid(message: str) -> str:
    """A document whose variables have wrong values is valid; the libraries check these at different times."""
    return RUNS if "has invalid value" in message else INVALID


@pytest.mark.parametrize("text", FIXED, ids=range(len(FIXED)))
def test_a_document_gets_the_same_verdict(gateway: httpx.Client, text: str) -> None:
    assert verdict_in_go(gateway, text) == verdict(text)


def test_documents_made_from_the_schema_get_the_same_verdict(gateway: httpx.Client) -> None:
    verdicts = []

    @settings(
        max_examples=int(os.environ.get("COSTLY_DOCUMENTS", "100")),
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(documents())
    def is_the_same(text: str) -> None:
        # A larger body is refused before its document is read.
        assume(len(json.dumps({"query": text}).encode()) <= MAX_BYTES)
        verdicts.append(verdict(text))
        both = {verdict_in_go(gateway, text), verdicts[-1]}
        # The parser in Go refuses an empty selection before it has read 500 tokens.
        assert len(both) == 1 or both == {INVALID, TOO_LONG}

    is_the_same()
    assert {RUNS, INVALID} < set(verdicts), "the documents are too much alike"
