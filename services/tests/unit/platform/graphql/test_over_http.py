"""GraphQL over HTTP: requests, sizes, compression, caching, errors, deadlines, persisted queries and spans."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import threading
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from conforming import says
from fuzz.graphql import requests
from graphql_gateways import SCHEMA
from recorded_spans import spans_of
from recording.lean.recorder import EndedSpan, RecordedSpan, Recorder
from shop.errors import ErrorCode, Internal
from shop.platform.deadline import deadline, remaining
from shop.platform.error_codes import ERROR_TABLE
from shop.platform.http.body import MAX_BYTES
from shop.product.domain import ProductChange

TYPENAME = {"query": "{ __typename }"}
RESPONSE_JSON = "application/graphql-response+json"


async def test_unknown_paths(server: Any) -> None:
    response = await server.http.get("/nothing")
    assert (response.status_code, response.headers["cache-control"]) == (404, "no-store")
    assert says(response.json()["errors"][0]["message"], "/graphql")


async def test_queries_by_get(gateway: Any) -> None:
    parameters = {"query": "query q($n: Int!) { products(first: $n) { edges { cursor } } }", "variables": '{"n": 2}'}
    response = await gateway.http.get("/graphql", params=parameters, headers={"accept": "*/*"})
    [_, second] = response.json()["data"]["products"]["edges"]
    assert response.json() == {"data": {"products": {"edges": [{"cursor": "1."}, {"cursor": second["cursor"]}]}}}


def get(**parameters: str | list[str]) -> dict[str, Any]:
    return {"method": "GET", "params": parameters}


def post(body: bytes, kind: str = "application/json; charset=utf-8") -> dict[str, Any]:
    return {"method": "POST", "content": body, "headers": {"content-type": kind}}


MALFORMED = [
    (get(query="mutation { __typename }"), 405, "mutations need POST"),
    (get(query="{ __typename }", variables="{"), 400, "variables is not JSON"),
    (get(query="{ __typename }", variables='{"a": 1, "a": 2}'), 400, "a is given twice"),
    (get(query=["{ __typename }", "{ me { id } }"]), 400, "query is given twice"),
    (get(query="{ __typename }", extensions="[]"), 400, "extensions must be an object"),
    *[
        (post(b"{}", kind), 415, "application/json is valid")
        for kind in ("text/plain", "multipart/form-data", "application/graphql", "")
    ],
    *[(post(body), 400, "the body is not JSON") for body in (b"", b"{", b'{"query": "\xff"}', b"[" * 5000)],
    *[
        (post('{"query": "{ __typename }"}'.encode(coding)), 400, "the body is not JSON")
        for coding in ("utf-16", "utf-32")
    ],
    (post(b'{"query": "{ __typename }", "query": "{ me { id } }"}'), 400, "query is given twice"),
    (post(b'{"query": "{ __typename }", "variables": {"a": [{"b": 1, "b": 2}]}}'), 400, "b is given twice"),
    (post(b'{"query": "{ __typename }", "variables": {"\\ud800": 1, "\\ud800": 2}}'), 400, "is given twice"),
    *[(post(body), 400, "must be an object") for body in (b"7", b"null")],
    (post(b'[{"query": "{ __typename }"}]'), 400, "one request for each"),
    (post(b'{"query": 7}'), 400, "query must be a text or null"),
    (post(b'{"query": "{ __typename }", "variables": []}'), 400, "variables must be an object or null"),
    (post(b'{"query": "{ __typename }", "operationName": 1}'), 400, "operationName must be a text or null"),
    (post(b'{"query": "{ __typename }", "extensions": "x"}'), 400, "extensions must be an object or null"),
]


@pytest.mark.parametrize(("sent", "status", "message"), MALFORMED, ids=lambda value: str(value)[:80])
async def test_malformed_requests_are_refused(server: Any, sent: dict[str, Any], status: int, message: str) -> None:
    response = await server.http.request(url="/graphql", **sent)
    assert (response.status_code, response.headers["cache-control"]) == (status, "no-store")
    error = response.json()["errors"][0]
    assert status != 400 or error["extensions"]["code"] == "INVALID_ARGUMENT"
    assert says(error["message"], message)


async def test_other_methods(server: Any) -> None:
    response = await server.http.put("/graphql", json=TYPENAME)
    assert (response.status_code, response.headers["allow"]) == (405, "GET, POST")
    assert response.headers["cache-control"] == "no-store"


INVALID = [
    ({}, "query is missing"),
    ({"query": ""}, "Syntax Error"),
    ({"query": "{ product(id: 1 { id } }"}, "Syntax Error"),
    ({"query": "fragment f on Product { id }"}, "Fragment 'f' is never used"),
    ({"query": "{ produkt }"}, "Cannot query field 'produkt'"),
    ({"query": "{ product { id } }"}, "of type 'ID!' is required"),
    pytest.param(
        {"query": "subscription { notifications { position } }"}, "use /graphql/stream", marks=pytest.mark.ours
    ),
    ({"query": "query a { __typename } query b { __typename }"}, "operationName is needed: a, b"),
    (
        {"query": "query a { __typename }", "operationName": "c"},
        "operationName is 'c'; the document has the operations a",
    ),
    ({"query": "{ __typename }", "operationName": "x"}, "operationName is 'x'; the document's operation has no name"),
    ({"query": "query ($id: ID!) { product(id: $id) { id } }"}, "Variable '$id'"),
    (
        {"query": "query ($n: Int!) { products(first: $n) { edges { cursor } } }", "variables": {"n": "x"}},
        "Variable '$n'",
    ),
    ({"query": "{ ...f } fragment f on Query { ...f }"}, "Cannot spread fragment 'f' within itself"),
]


@pytest.mark.parametrize(("body", "message"), INVALID, ids=str)
async def test_requests_that_cannot_run(gateway: Any, body: dict[str, Any], message: str) -> None:
    for accept, status in (("application/json", 200), ("*/*", 200), (f"{RESPONSE_JSON}, application/json;q=0.9", 400)):
        response = await gateway.post(body, accept=accept)
        assert response.status_code == status
        answer = response.json()
        assert "data" not in answer or answer["data"] is None
        assert answer["errors"][0]["extensions"]["code"] == "INVALID_ARGUMENT"
        assert says(answer["errors"][0]["message"], message)


async def test_the_newer_media_type_is_sent_to_clients_that_accept_it(gateway: Any) -> None:
    response = await gateway.post(TYPENAME, accept=RESPONSE_JSON)
    assert (response.status_code, response.headers["content-type"]) == (200, RESPONSE_JSON)
    failed = await gateway.post({"query": "{ me { id } }"}, accept=RESPONSE_JSON)
    assert (failed.status_code, failed.json()["data"]) == (200, None)


async def test_large_bodies_are_refused(server: Any) -> None:
    response = await server.post({"query": "#" * MAX_BYTES})
    assert response.status_code == 413
    assert response.json()["errors"][0]["extensions"]["code"] == "RESOURCE_EXHAUSTED"
    assert says(response.json()["errors"][0]["message"], str(MAX_BYTES))
    assert response.headers["content-type"] == "application/json"
    response = await server.post({"query": "#" * MAX_BYTES}, accept=RESPONSE_JSON)
    assert (response.status_code, response.headers["content-type"]) == (413, RESPONSE_JSON)

    async def chunks() -> Any:
        for _ in range(40):
            yield b" " * 16384

    response = await server.http.post("/graphql", content=chunks(), headers={"content-type": "application/json"})
    assert response.status_code == 413


@pytest.mark.ours
@pytest.mark.parametrize("length", ["9" * 30, "9" * 5000])
async def test_lengths_beyond_all_bounds_are_too_large(server: Any, length: str) -> None:
    headers = {"content-type": "application/json", "content-length": length}
    response = await server.http.post("/graphql", content=b"{}", headers=headers)
    assert response.status_code == 413


@pytest.mark.ours
async def test_a_body_that_does_not_come_is_given_up(server: Any) -> None:
    async def stall() -> Any:
        yield b'{"query": '
        await asyncio.sleep(30)

    headers = {"content-type": "application/json", "x-envoy-expected-rq-timeout-ms": "500"}
    response = await server.http.post("/graphql", content=stall(), headers=headers)
    assert (response.status_code, response.headers["connection"]) == (408, "close")
    error = response.json()["errors"][0]
    assert error["extensions"]["code"] == "DEADLINE_EXCEEDED"
    assert error["message"] == "the body did not arrive in time; send it faster or allow more time"


@pytest.mark.ours
async def test_a_body_that_breaks_off_is_a_bad_request(server: Any) -> None:
    messages = iter([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}])
    answered = []

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        answered.append(message)

    scope = {"type": "http", "method": "POST", "path": "/graphql", "query_string": b""}
    headers = [(b"content-type", b"application/json")]
    await server.http._transport.app({**scope, "headers": headers}, receive, send)
    assert answered[0]["status"] == 400


ODD_VALUES = [
    ("mutation ($s: OrderStatus!) { updateOrderStatus(input: {id: 1, status: $s}) { order { id } } }", "\u0130@\u0130"),
    ('mutation { updateOrderStatus(input: {id: 1, status: "\u0130@\u0130"}) { order { id } } }', None),
    ("mutation ($s: UpdateOrderStatusInput!) { updateOrderStatus(input: $s) { order { id } } }", {"\u0130@\u0130": 1}),
]


@pytest.mark.parametrize(("query", "value"), ODD_VALUES)
async def test_texts_that_grow_in_lower_case_are_values_like_others(gateway: Any, query: str, value: Any) -> None:
    response = await gateway.post({"query": query, "variables": {"s": value}}, accept=RESPONSE_JSON, partner=True)
    assert response.status_code == 400
    error = response.json()["errors"][0]
    assert error["extensions"]["code"] == "INVALID_ARGUMENT"
    assert says(error["message"], "\u0130@\u0130")


BAD_NUMBERS = [
    (b'{"query": "{ product(id: ' + b"1" * 4400 + b') { id } }"}', "RESOURCE_EXHAUSTED"),
    (b'{"query": "query ($i: ID! = ' + b"1" * 4400 + b') { product(id: $i) { id } }"}', "RESOURCE_EXHAUSTED"),
    (b'{"query": "{ product(id: 1' + b"0" * 30 + b') { id } }"}', "INVALID_ARGUMENT"),
    (b'{"query": "query ($i: Long!) { product(id: $i) { id } }", "variables": {"i": 1.0}}', "INVALID_ARGUMENT"),
    (b'{"query": "query ($i: ID!) { __typename }", "variables": {"i": ' + b"1" * 5000 + b"}}", "INVALID_ARGUMENT"),
]


@pytest.mark.ours
@pytest.mark.parametrize(("body", "code"), BAD_NUMBERS, ids=range(len(BAD_NUMBERS)))
async def test_bad_numbers_are_the_callers_fault(server: Any, body: bytes, code: str) -> None:
    server.shop.record.calls.clear()
    response = await server.http.post("/graphql", content=body, headers={"content-type": "application/json"})
    assert response.json()["errors"][0]["extensions"]["code"] == code
    assert response.headers["cache-control"] == "no-store"
    assert server.shop.record.calls == []


async def test_numbers_beyond_all_bounds_are_refused(gateway: Any) -> None:
    query = "query ($n: Int!) { products(first: $n) { edges { cursor } } }"
    for digits, message in ((25, "Variable '$n'"), (5000, "the body is not JSON")):
        body = json.dumps({"query": query, "variables": {"n": 0}}).replace('"n": 0', f'"n": {"1" * digits}')
        response = await gateway.http.post("/graphql", content=body, headers={"content-type": "application/json"})
        assert response.json()["errors"][0]["extensions"]["code"] == "INVALID_ARGUMENT"
        assert says(response.json()["errors"][0]["message"], message)


async def test_long_names_are_not_repeated_in_full(gateway: Any) -> None:
    response = await gateway.post({"query": "{" + "a" * 10_000 + "}"})
    assert says(response.json()["errors"][0]["message"], "Cannot query field 'aaaa")
    assert len(response.content) < 2_000


async def test_large_answers_are_compressed(gateway: Any) -> None:
    query = {"query": "{ products(first: 50) { edges { node { title description } } } }"}
    small = await gateway.post(TYPENAME, accept_encoding="gzip")
    large = await gateway.post(query, accept_encoding="gzip")
    plain = await gateway.post(query, accept_encoding="identity")
    assert "content-encoding" not in small.headers
    assert large.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert large.json() == plain.json()


PUBLIC = ("public, max-age=60", "accept, accept-encoding")
PERSONAL = ("private, no-store", "accept, accept-encoding, authorization")
PRODUCT = 'product(id: "UHJvZHVjdDox")'
CACHING = [
    ("{ products(first: 50) { edges { node { title reviews { body } } cursor } pageInfo { endCursor } } }", PUBLIC),
    ("{ __typename __schema { types { name } } }", PUBLIC),
    (f"query a {{ ...p }} fragment p on Query {{ {PRODUCT} {{ ... on Product {{ id }} __typename }} }}", PUBLIC),
    (f"query a {{ ...p }} fragment p on Query {{ {PRODUCT} {{ ... on Node {{ id }} __typename }} }}", PERSONAL),
    ("{ me { id } }", PERSONAL),
    (f"{{ {PRODUCT} {{ title }} me {{ id }} }}", PERSONAL),
    (f"{{ {PRODUCT} {{ reviews {{ author {{ name }} }} }} }}", PERSONAL),
    ('{ node(id: "UHJvZHVjdDox") { id } }', PERSONAL),
    ("query a { products { edges { cursor } } } query b { me { id } }", PERSONAL),
    ("query a { ...p } fragment p on Query { me { id } }", PERSONAL),
    ('{ product(id: "UHJvZHVjdDo5OTk5") { title } }', PERSONAL),  # it does not exist
    ("{ products { edges { cursor } }", PERSONAL),
    ("{ produkt }", PERSONAL),
]


@pytest.mark.parametrize(("query", "caching"), CACHING, ids=range(len(CACHING)))
async def test_caches_share_a_get_only_if_all_its_fields_are_public(
    gateway: Any, query: str, caching: tuple[str, str]
) -> None:
    headers = {"authorization": f"Bearer {gateway.token('customer', 3)}"}
    for accept in ("application/json", RESPONSE_JSON):
        asked = {"query": query, "operationName": "a" if query.startswith("query a") else ""}
        read = await gateway.http.get("/graphql", params=asked, headers={**headers, "accept": accept})
        assert (read.headers["cache-control"], read.headers["vary"]) == caching
        assert len(read.headers.get_list("vary")) <= 1
        posted = await gateway.http.post("/graphql", json=asked, headers={**headers, "accept": accept})
        assert posted.headers["cache-control"] == "no-store"


@pytest.mark.ours
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (f"{{ {PRODUCT} {{ title }} }}", {"products", "product-1"}),
        ("{ products(first: 2) { edges { node { title } } } }", {"products", "product-1", "product-2"}),
        ('{ products(first: 2, category: "none") { edges { node { title } } } }', {"products"}),
        ("{ me { id } }", set()),
        (f"{{ {PRODUCT} {{ title }} me {{ id }} }}", set()),
    ],
    ids=range(5),
)
async def test_a_shared_cache_gets_the_products_as_keys(gateway: Any, query: str, expected: set[str]) -> None:
    headers = {"authorization": f"Bearer {gateway.token('customer', 3)}"}
    assert "surrogate-key" not in (await gateway.http.get("/graphql", params={"query": query}, headers=headers)).headers
    headers["surrogate-capability"] = 'cache="Surrogate/1.0"'
    answer = await gateway.http.get("/graphql", params={"query": query}, headers=headers)
    assert set(filter(None, answer.headers.get("surrogate-key", "").split(","))) == expected


@pytest.mark.parametrize("code", list(ErrorCode))
async def test_every_error_of_the_table_keeps_its_code_message_and_field(gateway: Any, code: ErrorCode) -> None:
    gateway.shop.record.fail(ERROR_TABLE[code].error("what to change", field="page_size"))
    answer = await gateway.run('{ product(id: "UHJvZHVjdDox") { id } }')
    again = {ErrorCode.UNAVAILABLE: 1, ErrorCode.TOO_MANY_REQUESTS: 300}
    later = {"retryAfter": again[code]} if code in again else {}
    assert answer["data"] == {"product": None}
    assert answer["errors"] == [
        {
            "message": "what to change",
            "locations": [{"line": 1, "column": 3}],
            "path": ["product"],
            "extensions": {"code": code.value, "field": "pageSize", **later},
        }
    ]


async def test_unknown_causes_stay_in_the_log(gateway: Any, caplog: pytest.LogCaptureFixture) -> None:
    gateway.shop.record.fail(RuntimeError("password=hunter2"), "list_products_with_reviews")
    with caplog.at_level(logging.ERROR):
        response = await gateway.post({"query": "{ products(first: 3) { edges { node { id reviews { id } } } } }"})
    answer = response.json()
    assert "hunter2" not in response.text
    assert {error["message"] for error in answer["errors"]} == {"internal error"}
    assert {error["extensions"]["code"] for error in answer["errors"]} == {"INTERNAL"}
    assert "hunter2" in caplog.text
    assert len(caplog.records) == 1


async def test_internal_errors_of_services_are_logged_too(gateway: Any, caplog: pytest.LogCaptureFixture) -> None:
    gateway.shop.record.fail(Internal("internal error"))
    with caplog.at_level(logging.ERROR):
        await gateway.run("{ products { edges { cursor } } }")
    assert len(caplog.records) == 1


async def test_the_callers_deadline_ends_the_wait(gateway: Any) -> None:
    gateway.shop.record.on_call = lambda _: asyncio.sleep(30)
    body = {"query": "{ products { edges { cursor } } }"}
    started = time.monotonic()
    response = await gateway.post(body, x_envoy_expected_rq_timeout_ms="50")
    assert time.monotonic() - started < 20
    assert response.status_code == 200
    assert response.json()["errors"][0]["extensions"]["code"] == "DEADLINE_EXCEEDED"


@pytest.mark.ours
async def test_a_deadline_before_the_end_of_the_body_is_not_the_shops_fault(server: Any) -> None:
    with deadline(0):
        response = await server.post({"query": "{ __typename }"})
    assert response.status_code == 504
    assert response.json()["errors"][0]["extensions"]["code"] == "DEADLINE_EXCEEDED"


@pytest.mark.parametrize(("header", "expected"), [("1500", 1.5), ("", 5.0)])
async def test_the_deadline_is_passed_on(gateway: Any, header: str, expected: float) -> None:
    seen = []

    async def look(_method: str) -> None:
        seen.append(remaining())

    gateway.shop.record.on_call = look
    await gateway.post({"query": "{ products { edges { cursor } } }"}, x_envoy_expected_rq_timeout_ms=header)
    assert 0.35 * expected < seen[0] <= expected


async def test_one_request_does_not_see_what_another_read(gateway: Any) -> None:
    query = '{ product(id: "UHJvZHVjdDox") { stock } }'
    assert (await gateway.data(query))["product"]["stock"] == 1001
    await gateway.shop.products.change(1, ProductChange(stock=5), None)
    assert (await gateway.data(query))["product"]["stock"] == 5


async def test_mutations_of_a_request_run_one_after_the_other(gateway: Any) -> None:
    gateway.shop.record.on_call = lambda _: asyncio.sleep(0.005)
    query = """mutation {
      a: updateProfile(input: {name: "A"}) { user { name } }
      b: updateProfile(input: {name: "B"}) { user { name } } }"""
    assert await gateway.data(query, user=1) == {"a": {"user": {"name": "A"}}, "b": {"user": {"name": "B"}}}
    first, second = gateway.shop.record.calls
    assert not first.overlaps(second)


KNOWN = "query q($id: ID!) { product(id: $id) { title } }"
OF_KNOWN = {"id": "UHJvZHVjdDox"}


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def by_hash(text: str) -> dict[str, Any]:
    return {"persistedQuery": {"version": 1, "sha256Hash": sha256(text)}}


async def test_a_hash_is_unknown_until_its_text_came(gateway: Any) -> None:
    body = {"extensions": by_hash(KNOWN), "variables": OF_KNOWN}
    first = await gateway.post(body)
    assert first.status_code == 200
    assert first.json()["errors"] == [
        {"message": "PersistedQueryNotFound", "extensions": {"code": "PERSISTED_QUERY_NOT_FOUND"}}
    ]
    for request in (body | {"query": KNOWN}, body, body):
        assert (await gateway.post(request)).json() == {"data": {"product": {"title": "Product 1"}}}


async def test_a_hash_of_another_text_is_refused(server: Any) -> None:
    response = await server.post({"query": "{ __typename }", "extensions": by_hash(KNOWN)})
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
    known = await gateway.post({"query": query, "extensions": extensions, "variables": {"n": 1}}, partner=True)
    assert "errors" not in known.json()
    dear = await gateway.post({"extensions": extensions, "variables": {"n": 1000}}, partner=True)
    assert dear.json()["errors"][0]["extensions"]["code"] == "RESOURCE_EXHAUSTED"


@pytest.mark.parametrize(
    "persisted",
    [
        *("x", {}, {"version": 1}, {"version": 2, "sha256Hash": sha256(KNOWN)}),
        *({"version": 1, "sha256Hash": value} for value in (5, "abc", sha256(KNOWN).upper())),
    ],
    ids=str,
)
async def test_malformed_hashes(server: Any, persisted: object) -> None:
    response = await server.post({"extensions": {"persistedQuery": persisted}})
    assert response.status_code == 400
    assert response.json()["errors"][0]["extensions"]["code"] == "INVALID_ARGUMENT"


SAMPLED = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TITLES = "query titles { products { edges { node { title } } } }"


class Watched(Recorder):
    """Records the threads on which spans start and end; there is no lock for several threads."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()

    def start(self, *args: Any, **kwargs: Any) -> RecordedSpan:
        self.threads.add(threading.get_ident())
        return super().start(*args, **kwargs)

    def keep(self, ended: EndedSpan) -> None:
        self.threads.add(threading.get_ident())
        super().keep(ended)


@pytest.fixture
def recorder() -> Watched:
    return Watched()


@pytest.mark.ours
@pytest.mark.parametrize("query", [TITLES, "{ nothing }", "{"])
async def test_spans_are_recorded_by_one_thread(gateway: Any, recorder: Watched, query: str) -> None:
    await gateway.post({"query": query}, traceparent=SAMPLED)
    assert "graphql.parse" in {span.name for span in spans_of(recorder)}
    assert recorder.threads == {threading.get_ident()}


@pytest.mark.ours
async def test_a_document_is_parsed_once(gateway: Any, recorder: Watched) -> None:
    for parts in ({"graphql.parse", "graphql.validate", "graphql.execute"}, {"graphql.execute"}):
        recorder.waiting.clear()
        await gateway.post({"query": TITLES}, traceparent=SAMPLED)
        assert {span.name for span in spans_of(recorder)} == {"POST /graphql", *parts}


@pytest.mark.ours
def test_no_random_request_gets_a_server_error(gateway: Any) -> None:
    ran = 0
    tokens = [{}, *({"authorization": f"Bearer {gateway.token(kind)}"} for kind in ("customer", "partner"))]

    @settings(
        max_examples=100,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(requests(SCHEMA), st.sampled_from(tokens))
    def is_answered(request: tuple[str, str, bytes], token: dict[str, str]) -> None:
        nonlocal ran
        method, query, body = request
        headers = {"content-type": "application/json", "accept": RESPONSE_JSON, **token}
        answer = loop.run(gateway.http.request(method, f"/graphql?{query}", content=body, headers=headers))
        assert answer.status_code < 500, answer.text
        assert '"INTERNAL"' not in answer.text
        ran += '"data":{' in answer.text

    with asyncio.Runner() as loop:
        is_answered()
    assert ran, "none of the requests is good enough to run"
