"""Features that a service has only over REST: documents, entity tags, compression, and refusals."""

from __future__ import annotations

import json
from typing import Any

import httpx
import psycopg
import pytest

from .components import COMPONENTS, ComponentContract, Rows, insert_rows
from .conftest import ROWS, RunningProgram
from .doors import RestDoor

BIG = 2**63
PRODUCTS = "/v1/products"
TEA: dict[str, Any] = {
    "title": "Tea",
    "description": "",
    "category": "contract",
    "price": {"amount_minor": 100, "currency": "EUR"},
    "stock": 0,
}
RESERVATION = "/v1/reservations/01234567-89ab-cdef-0123-456789abcdef"
LINE = {"product_id": 1, "quantity": 1}
WRONG: list[tuple[str, str, Any, str]] = [
    *[
        ("GET", f"{PRODUCTS}?{query}", None, query.partition("=")[0])
        for query in ("page_size=0", "page_size=ten", "x=1")
    ],
    *[("GET", f"{PRODUCTS}?ids={ids}", None, "ids[1]") for ids in ("1,x", "1,,2", "1,0", f"1,{BIG}", "1,+2")],
    *[("GET", f"{PRODUCTS}?ids=1&{other}=c0", None, other) for other in ("category", "page_token")],
    ("GET", f"{PRODUCTS}?page_size=1&page_size=2", None, "page_size"),
    ("GET", f"{PRODUCTS}?include=authors", None, "include"),
    *[("GET", f"{PRODUCTS}?fields={fields}", None, "fields") for fields in ("secret", "price.tax", "id,")],
    ("GET", f"{PRODUCTS}?review_limit=21&include=reviews", None, "review_limit"),
    ("GET", "/v1/reviews", None, "product_ids"),
    ("GET", "/v1/product-rows?page_size=10001", None, "page_size"),
    *[("GET", f"{PRODUCTS}/{id_}", None, "product_id") for id_ in ("0", "-1", "x", "1.5", "%2B5", BIG, "1_0")],
    *[("POST", PRODUCTS, {k: v for k, v in TEA.items() if k != name}, name) for name in TEA],
    *[("PATCH", f"{PRODUCTS}/1", {"stock": stock}, "stock") for stock in (None, "5", True, 1.5, -1, BIG)],
    *[("PATCH", f"{PRODUCTS}/1", {"title": title}, "title") for title in (None, 5, "", "a\u0000b", "\ud800")],
    *[("PATCH", f"{PRODUCTS}/1", {"price": price}, "price") for price in (None, 5, [])],
    ("PATCH", f"{PRODUCTS}/1", {"price": {"amount_minor": 1}}, "price.currency"),
    ("PATCH", f"{PRODUCTS}/1", {"price": {"amount_minor": 0, "currency": "EUR"}}, "price.amount_minor"),
    ("PATCH", f"{PRODUCTS}/1", {"price": TEA["price"] | {"tax": 1}}, "price.tax"),
    ("PATCH", f"{PRODUCTS}/1", {"Title": "Tea"}, "Title"),
    ("PATCH", f"{PRODUCTS}/1", {}, ""),
    ("PUT", RESERVATION, {"lines": LINE}, "lines"),
    ("PUT", RESERVATION, {"lines": [LINE, {"product_id": 2, "quantity": 1001}]}, "lines[1].quantity"),
]
UNREADABLE = [b"{", b"", b"null", b"[]", b"\xff", b"[" * 50_000, b'{"a":' * 10_000, b"NaN", b'{"stock": 1, "stock": 2}']


@pytest.fixture(scope="module", params=[row for row in ROWS if COMPONENTS[row].over == "rest"])
def contracted(request: pytest.FixtureRequest) -> ComponentContract:
    """A service over REST; no other component is started here."""
    return COMPONENTS[request.param]


@pytest.fixture
def client(serving: RunningProgram) -> httpx.Client:
    assert isinstance(serving.door, RestDoor)
    return serving.door.client


@pytest.mark.parametrize(("method", "path", "body", "field"), WRONG)
def test_errors_of_a_request_are_named(client: httpx.Client, method: str, path: str, body: Any, field: str) -> None:
    content, headers = (None, {}) if body is None else (json.dumps(body), {"content-type": "application/json"})
    answer = client.request(method, path, content=content, headers=headers)
    problem = answer.json()
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json"), problem
    assert (problem["code"], problem.get("errors", [problem])[0]["field"]) == ("INVALID_ARGUMENT", field), problem


@pytest.mark.parametrize("body", UNREADABLE, ids=lambda body: repr(body[:20]))
def test_a_body_that_is_not_an_object_is_refused(client: httpx.Client, body: bytes) -> None:
    answer = client.patch(f"{PRODUCTS}/1", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_ARGUMENT")


def test_problems_of_http_have_its_statuses(client: httpx.Client, rows: Rows) -> None:
    path, form = f"{PRODUCTS}/{rows.product}", {"content-type": "text/plain"}
    packed = {"content-type": "application/json", "content-encoding": "gzip"}
    for answer, status, kind in (
        (client.put(path), 405, "method-not-allowed"),
        (client.post(PRODUCTS, content=b"{}", headers=form), 415, "unsupported-media-type"),
        (client.post(PRODUCTS, content=b"{}", headers=packed), 415, "unsupported-media-type"),
        (client.post(PRODUCTS, json={"title": "x" * 70_000}), 413, "resource-exhausted"),
        (client.get("/v1/nothing"), 404, "not-found"),
        (client.get(f"{PRODUCTS}/"), 404, "not-found"),
        (client.get(f"/v1//products/{rows.product}"), 404, "not-found"),
        (client.patch(path, json={"stock": 1}), 428, "precondition-required"),
        (client.get(f"{PRODUCTS}?page_token=x"), 400, "invalid-page-token"),
    ):
        problem = answer.json()
        assert (answer.status_code, problem["status"], problem["type"].rpartition("/")[2]) == (status, status, kind), (
            problem
        )
        assert problem["instance"] == answer.request.url.path
        assert problem["title"]
        assert problem["detail"]
        assert answer.headers["cache-control"] == "no-store"
    assert client.put(path).headers["allow"] == "DELETE, GET, HEAD, PATCH"


def test_a_read_has_an_entity_tag_and_may_be_kept(client: httpx.Client, admin: psycopg.Connection, rows: Rows) -> None:
    for _ in range(12):  # a page that is worth compressing
        insert_rows(admin)
    one, many = f"{PRODUCTS}/{rows.product}", f"{PRODUCTS}?page_size=100"
    for path, coding, packs in (
        (one, "gzip", False),
        (many, "identity", False),
        (many, "gzip;q=0", False),
        (many, "gzip", True),
    ):
        headers = {"accept-encoding": coding}
        answer = client.get(path, headers=headers)
        assert answer.headers["cache-control"] == "public, max-age=60"
        assert answer.headers["vary"].lower() == "accept-encoding"
        assert (answer.headers.get("content-encoding") == "gzip", '-gzip"' in answer.headers["etag"]) == (packs, packs)
        for known in (answer.headers["etag"], f'"other", W/{answer.headers["etag"]}', "*"):
            again = client.get(path, headers={**headers, "if-none-match": known})
            assert (again.status_code, again.content) == (304, b""), known
    head = client.head(one)
    assert (head.status_code, head.headers["etag"], head.content) == (200, client.get(one).headers["etag"], b"")
    assert client.get(one, headers={"if-none-match": '"other"'}).status_code == 200


def test_a_change_applies_only_to_the_version_that_the_client_read(client: httpx.Client) -> None:
    made = client.post(PRODUCTS, json=TEA)
    path, tag = made.headers["location"], made.headers["etag"]
    assert (made.status_code, made.json()) == (201, {"id": made.json()["id"], **TEA})
    assert client.get(path).headers["etag"] == tag
    changed = client.patch(path, json={"stock": 3}, headers={"if-match": tag})
    assert (changed.status_code, changed.json()["stock"], changed.headers["cache-control"]) == (200, 3, "no-store")
    for call in (
        client.patch(path, json={"stock": 4}, headers={"if-match": tag}),
        client.delete(path, headers={"if-match": tag}),
    ):
        assert (call.status_code, call.json()["code"], call.json()["field"]) == (412, "PRECONDITION_FAILED", "If-Match")
    gone = client.delete(path, headers={"if-match": changed.headers["etag"]})
    assert (gone.status_code, gone.content) == (204, b"")
    assert client.get(path).status_code == 404


@pytest.mark.parametrize("query", ["", "&include=reviews"])
def test_a_client_reads_the_fields_that_it_names(client: httpx.Client, rows: Rows, query: str) -> None:
    def read(fields: str, path: str = f"{PRODUCTS}/{rows.product}?") -> httpx.Response:
        answer = client.get(f"{path}fields={fields}{query}")
        assert answer.status_code == 200, answer.text
        return answer

    some = {"id": rows.product, "price": {"currency": "EUR"}, "description": ""}
    named = "price.currency,description,id"
    assert read(named).json() == some
    assert read(named, f"{PRODUCTS}?ids={rows.product}&").json() == {"products": [some], "next_page_token": ""}
    assert read(named).headers["etag"] == read("id,description,price.currency").headers["etag"]
    assert read("*").content == client.get(f"{PRODUCTS}/{rows.product}?{query}").content
    assert read("reviews.*.title").json() == ({"reviews": []} if query else {})


def test_documents_are_as_ours_to_the_byte(client: httpx.Client, rows: Rows) -> None:
    answer = client.get(f"{PRODUCTS}/{rows.product}?include=reviews", headers={"accept-encoding": "identity"})
    body = f'{{"id":{rows.product},"title":"Tea","description":"","category":"contract",'
    assert answer.text == body + '"price":{"amount_minor":100,"currency":"EUR"},"stock":1,"reviews":[]}'
