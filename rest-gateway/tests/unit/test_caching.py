"""Entity tags, conditional requests, Cache-Control."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from gateway_shop import ForUser, Headers
from memory_shop import MemoryShop
from shop.platform.http.caching import content_hash, is_not_modified
from shop.values.order import OrderStatus

PERSONAL = (
    *("/v1/users", "/v1/users/3", "/v1/users/3/orders", "/v1/orders?ids=3", "/v1/orders/3"),
    *("/v1/payments?order_ids=3", "/v1/payments/3", "/v1/order-lines"),
)
"""Paths whose answers each caller gets alone."""


@pytest.mark.parametrize(
    ("path", "cache_control", "vary"),
    [
        *[(path, "public, max-age=60", "accept-encoding") for path in ("/v1/products", "/v1/products/3")],
        *[(path, "private, no-cache", "accept-encoding, authorization") for path in PERSONAL],
        *[(path, "public, max-age=300", "accept-encoding") for path in ("/openapi.json", "/docs")],
    ],
)
async def test_every_read_says_how_long_it_may_be_kept(
    api: httpx.AsyncClient, partner: Headers, path: str, cache_control: str, vary: str
) -> None:
    answer = await api.get(path, headers=partner)
    assert (answer.status_code, answer.headers["cache-control"]) == (200, cache_control)
    assert answer.headers["vary"] == vary
    again = await api.get(path, headers={**partner, "if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert "content-length" not in again.headers
    for header in ("etag", "cache-control", "vary"):
        assert again.headers[header] == answer.headers[header]


async def test_the_compressed_body_has_a_separate_tag(api: httpx.AsyncClient) -> None:
    plain = (await api.get("/v1/products")).headers["etag"]
    packed = (await api.get("/v1/products", headers={"accept-encoding": "gzip"})).headers["etag"]
    assert plain != packed
    for tag in (plain, packed):
        for encoding in ("identity", "gzip"):
            headers = {"if-none-match": tag, "accept-encoding": encoding}
            assert (await api.get("/v1/products", headers=headers)).status_code == 304


def test_if_none_match_takes_lists_weak_tags_and_the_star() -> None:
    content = content_hash(b"body")
    for header in (f'"{content}"', f'W/"{content}"', f'"other", "{content}"', "*"):
        assert is_not_modified(header, content), header


@pytest.mark.parametrize("header", ["", '"', '""', "W/", "unquoted", '"other"', ",,,"])
def test_anything_else_does_not_match(header: str) -> None:
    assert not is_not_modified(header, content_hash(b"body"))


async def test_if_match_admits_changes_of_the_last_version(api: httpx.AsyncClient, partner: Headers) -> None:
    tag = (await api.get("/v1/products/3")).headers["etag"]
    first = await api.patch("/v1/products/3", json={"stock": 7}, headers={**partner, "if-match": tag})
    second = await api.patch("/v1/products/3", json={"stock": 8}, headers={**partner, "if-match": tag})
    third = await api.patch("/v1/products/3", json={"stock": 9}, headers={**partner, "if-match": first.headers["etag"]})
    assert first.status_code == 200
    assert (second.status_code, second.json()["code"]) == (412, "PRECONDITION_FAILED")
    assert third.status_code == 200


@pytest.mark.parametrize(("path", "field"), [("/v1/products/3", "title"), ("/v1/users/3", "name")])
async def test_of_concurrent_changes_with_one_tag_one_succeeds(
    api: httpx.AsyncClient, shop: MemoryShop, partner: Headers, path: str, field: str
) -> None:
    tag = (await api.get(path, headers=partner)).headers["etag"]
    shop.record.on_call = lambda _: asyncio.sleep(0.005)  # lets rivals read
    sent = (api.patch(path, json={field: f"N{rival}"}, headers={**partner, "if-match": tag}) for rival in range(4))
    answers = await asyncio.gather(*sent)
    assert sorted(answer.status_code for answer in answers) == [200, 412, 412, 412]


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("PATCH", "/v1/users/3", {"name": "New"}, 200),
        ("PATCH", "/v1/orders/4", {"status": "SHIPPED"}, 200),
        ("DELETE", "/v1/products/3", None, 204),
        ("DELETE", "/v1/users/3", None, 204),
    ],
)
async def test_if_match_holds_for_every_change(
    api: httpx.AsyncClient, customer: ForUser, partner: Headers, method: str, path: str, body: object, status: int
) -> None:
    who = customer(3) if "users" in path else partner
    tag = (await api.get(path, headers=who)).headers["etag"]
    for given, expected in (('"stale"', 412), (tag, status)):
        answer = await api.request(method, path, json=body, headers={**who, "if-match": given})
        assert answer.status_code == expected


@pytest.mark.parametrize("headers", [{}, {"if-match": "*"}])
async def test_a_change_of_stock_says_which_state_it_is_of(
    api: httpx.AsyncClient, partner: Headers, headers: Headers
) -> None:
    refused = await api.patch("/v1/products/3", json={"stock": 7}, headers={**partner, **headers})
    assert (refused.status_code, refused.json()["code"]) == (428, "PRECONDITION_REQUIRED")
    assert "If-Match" in refused.json()["detail"]


async def test_an_order_that_moves_between_check_and_change_fails_the_condition(
    api: httpx.AsyncClient, shop: MemoryShop, partner: Headers
) -> None:
    tag = (await api.get("/v1/orders/4", headers=partner)).headers["etag"]
    first = {"status": "SHIPPED"}
    skipped = await api.patch("/v1/orders/4", json={"status": "DELIVERED"}, headers={**partner, "if-match": tag})
    assert skipped.status_code == 409

    async def rival(method: str) -> None:
        if method == "update_order_status":
            await shop.orders.move(4, current=OrderStatus.CONFIRMED, wanted=OrderStatus.SHIPPED)

    shop.record.on_call = rival
    late = await api.patch("/v1/orders/4", json=first, headers={**partner, "if-match": tag})
    assert (late.status_code, late.json()["code"]) == (412, "PRECONDITION_FAILED")


async def test_if_match_takes_the_star_and_no_weak_tag(api: httpx.AsyncClient, partner: Headers) -> None:
    tag = (await api.get("/v1/products/3")).headers["etag"]
    change = {"title": "New"}
    weak = await api.patch("/v1/products/3", json=change, headers={**partner, "if-match": f"W/{tag}"})
    star = await api.patch("/v1/products/3", json=change, headers={**partner, "if-match": "*"})
    gone = await api.patch("/v1/products/999", json=change, headers={**partner, "if-match": "*"})
    assert (weak.status_code, star.status_code, gone.status_code) == (412, 200, 404)


async def test_changed_resources_have_their_entity_tag(api: httpx.AsyncClient, partner: Headers) -> None:
    body = {"user_id": 3, "lines": [{"product_id": 5, "quantity": 1}], "payment_token": "tok_ok"}
    made = await api.post("/v1/orders", json=body, headers={**partner, "idempotency-key": "k"})
    read = await api.get(made.headers["location"], headers=partner)
    assert (made.headers["etag"], made.content) == (read.headers["etag"], read.content)
    assert made.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/v1/products/3", "product-3"),
        ("/v1/products/3?include=reviews", "product-3"),
        ("/v1/products?ids=3,1", "products,product-"),
        ("/v1/products?category=none", "products"),
        ("/v1/products?page_size=1000", "catalogue"),
        ("/v1/users/3", None),
    ],
)
async def test_a_shared_cache_that_can_purge_gets_the_keys(
    api: httpx.AsyncClient, partner: Headers, path: str, expected: str | None
) -> None:
    assert "surrogate-key" not in (await api.get(path, headers=partner)).headers
    answer = await api.get(path, headers={**partner, "surrogate-capability": 'cache="Surrogate/1.0"'})
    keys = answer.headers.get("surrogate-key")
    assert (keys is None) if expected is None else (keys is not None and keys.startswith(expected))
