"""`/v1/products`."""

from __future__ import annotations

import uuid

import httpx
import pytest

from conforming import says
from gateway_shop import Headers
from memory_shop import MemoryShop
from shop.values.product import StockLine

PRICE = {"amount_minor": 1999, "currency": "EUR"}
NEW = {"title": "Lamp", "description": "Gives light.", "category": "c0001", "price": PRICE, "stock": 5}


async def test_lists_a_page_of_a_category_with_reviews_in_one_call(api: httpx.AsyncClient, shop: MemoryShop) -> None:
    answer = await api.get("/v1/products", params={"category": "c0001", "page_size": 20, "include": "reviews"})
    products = answer.json()["products"]
    assert [product["id"] for product in products] == list(range(101, 121))
    assert [review["id"] for review in products[0]["reviews"]] == [301, 302, 303]
    assert shop.record.methods == ["list_products_with_reviews"]


async def test_pages_reach_every_product_once(api: httpx.AsyncClient) -> None:
    seen: list[int] = []
    token = ""
    while True:
        page = (await api.get("/v1/products", params={"page_size": 70, "page_token": token})).json()
        seen += [product["id"] for product in page["products"]]
        token = page["next_page_token"]
        if not token:
            break

    assert seen == list(range(1, 201))


async def test_a_page_token_belongs_to_its_filter(api: httpx.AsyncClient) -> None:
    token = (await api.get("/v1/products", params={"category": "c0000"})).json()["next_page_token"]
    answer = await api.get("/v1/products", params={"category": "c0001", "page_token": token})
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_PAGE_TOKEN")
    assert answer.json()["field"] == "page_token"


async def test_reads_many_in_the_order_of_the_ids(api: httpx.AsyncClient, shop: MemoryShop) -> None:
    answer = await api.get("/v1/products", params={"ids": "7,3,999,7"})
    assert [product["id"] for product in answer.json()["products"]] == [7, 3]
    assert answer.json()["next_page_token"] == ""
    assert shop.record.methods == ["batch_get_products"]


@pytest.mark.parametrize(("more", "reviews"), [({}, 3), ({"review_limit": 1}, 1)])
async def test_reads_many_with_their_reviews(
    api: httpx.AsyncClient, shop: MemoryShop, more: dict[str, int], reviews: int
) -> None:
    answer = await api.get("/v1/products", params={"ids": "7,3", "include": "reviews", **more})
    assert [len(product["reviews"]) for product in answer.json()["products"]] == [reviews, reviews]
    assert shop.record.methods == ["batch_get_products_with_reviews"]


async def test_reads_one(api: httpx.AsyncClient) -> None:
    answer = await api.get("/v1/products/17")
    assert answer.json() == {
        "id": 17,
        "title": "Product 17",
        "description": "What product 17 is.",
        "category": "c0000",
        "price": {"amount_minor": 729, "currency": "EUR"},
        "stock": 1017,
    }


async def test_reads_one_with_reviews(api: httpx.AsyncClient) -> None:
    answer = await api.get("/v1/products/17", params={"include": "reviews"})
    assert [review["id"] for review in answer.json()["reviews"]] == [49, 50, 51]


async def test_a_partner_adds_changes_and_removes_a_product(api: httpx.AsyncClient, partner: Headers) -> None:
    added = await api.post("/v1/products", json=NEW, headers=partner)
    assert (added.status_code, added.json()) == (201, {"id": 201, **NEW})
    path = added.headers["location"]
    tag = {"if-match": added.headers["etag"]}
    change = {"stock": 9, "price": {"amount_minor": 1, "currency": "USD"}}
    changed = await api.patch(path, json=change, headers={**partner, **tag})
    assert changed.status_code == 200
    expected = {"id": 201, **NEW, "stock": 9, "price": {"amount_minor": 1, "currency": "USD"}}
    assert changed.json() == expected
    assert (await api.get(path)).json() == expected
    assert (await api.delete(path, headers={**partner, **tag})).status_code == 412
    removed = await api.delete(path, headers=partner)
    assert (removed.status_code, removed.content) == (204, b"")
    assert (await api.get(path)).status_code == 404


async def test_a_reserved_product_stays(api: httpx.AsyncClient, shop: MemoryShop, partner: Headers) -> None:
    await shop.clients.product.reserve_stock(str(uuid.uuid4()), [StockLine(3, 1)])
    answer = await api.delete("/v1/products/3", headers=partner)
    assert (answer.status_code, answer.json()["code"]) == (409, "FAILED_PRECONDITION")


async def test_an_unknown_field_names_the_valid_ones(api: httpx.AsyncClient, partner: Headers) -> None:
    answer = await api.patch("/v1/products/3", json={"colour": "red"}, headers=partner)
    message = "this field is unknown; valid ones are title, description, category, price, stock"
    assert answer.json()["errors"] == [{"field": "colour", "message": message}]


async def test_every_error_is_named(api: httpx.AsyncClient, partner: Headers) -> None:
    answer = await api.post("/v1/products", json={"title": 5, "stock": -1}, headers=partner)
    errors = {error["field"]: error["message"] for error in answer.json()["errors"]}
    assert set(errors) == {"title", "description", "category", "price", "stock"}
    assert says(errors["price"], "this field is required")
    assert says(answer.json()["detail"], "and 2 more")


@pytest.mark.ours
async def test_a_body_with_thousands_of_errors_gets_a_short_answer(api: httpx.AsyncClient, partner: Headers) -> None:
    unknown = {f"a{number}": 0 for number in range(5_000)}
    answer = await api.patch("/v1/products/3", json=unknown, headers=partner)
    assert (answer.status_code, len(answer.json()["errors"])) == (400, 20)
    assert answer.json()["detail"].endswith("; and 4997 more")
    assert len(answer.content) < 4 * 1024


async def test_fields_select_the_answer_and_have_a_separate_entity_tag(api: httpx.AsyncClient) -> None:
    whole = await api.get("/v1/products/3")
    some = await api.get("/v1/products/3", params={"fields": "price.currency,id"})
    assert some.json() == {"id": 3, "price": {"currency": whole.json()["price"]["currency"]}}
    assert some.headers["etag"] != whole.headers["etag"]
    for fields, etag, status in (
        ("id,price.currency", "some", 304),
        ("id", "some", 200),
        ("id,price.currency", "whole", 200),
    ):
        tag = {"some": some, "whole": whole}[etag].headers["etag"]
        again = await api.get("/v1/products/3", params={"fields": fields}, headers={"if-none-match": tag})
        assert again.status_code == status

    page = (
        await api.get("/v1/products", params={"ids": "3,4", "fields": "id,reviews.*.id", "include": "reviews"})
    ).json()
    assert page["products"][1] == {"id": 4, "reviews": [{"id": id_} for id_ in (10, 11, 12)]}


async def test_unknown_fields_are_refused_with_the_valid_ones_before_anything_is_read(
    api: httpx.AsyncClient, shop: MemoryShop
) -> None:
    for path in ("/v1/products/3", "/v1/products"):
        answer = await api.get(path, params={"fields": "id,secret"})
        assert answer.status_code == 400
        assert says(answer.json()["detail"], "valid: id, title")
    assert shop.record.methods == []
