"""The catalogue's reads and changes, the same over every protocol."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest
from msgspec.structs import astuple

from conforming import words
from dataset.documents import documents
from inserted_rows import insert
from shop.contract.ports import ProductClient
from shop.errors import (
    FailedPrecondition,
    InvalidArgument,
    InvalidPageToken,
    NotFound,
    PreconditionFailed,
    PreconditionRequired,
)
from shop.money import Money
from shop.values.product import Product, StockLine

Make = Callable[..., Awaitable[Product]]
NOWHERE = 2**62


async def test_created_product_is_read_back(product: ProductClient, make_product: Make) -> None:
    made = await make_product(title="Kännchen ☕", stock=7, price=10**12)
    assert made.id > 0
    assert made.title == "Kännchen ☕"
    assert made.price == Money(10**12, "EUR")
    assert await product.get_product(made.id) == made


async def test_batch_keeps_the_requested_order_and_leaves_out_unknown_ids(
    product: ProductClient, make_product: Make
) -> None:
    first, second = await make_product(), await make_product()
    assert await product.batch_get_products([second.id, NOWHERE, first.id, second.id]) == [second, first]


async def test_pages_of_a_category_hold_every_product_once(
    product: ProductClient, make_product: Make, category: str
) -> None:
    made = [await make_product() for _ in range(5)]
    seen: list[Product] = []
    token = ""
    for expected in (2, 2, 1):
        page = await product.list_products(page_size=2, page_token=token, category=category)
        assert len(page.items) == expected
        seen += page.items
        token = page.next_page_token
    assert token == ""
    assert seen == made
    whole = await product.list_products(page_size=5, category=category)
    assert ([*whole.items], whole.next_page_token) == (made, ""), "a last page may be full"


async def test_unknown_category_is_an_empty_page(product: ProductClient, category: str) -> None:
    page = await product.list_products(category=category)
    assert (page.items, page.next_page_token) == ((), "")


async def test_page_size_is_20_by_default_and_spans_categories(product: ProductClient, make_product: Make) -> None:
    await asyncio.gather(*(make_product() for _ in range(21)))
    page = await product.list_products()
    assert len(page.items) == 20
    assert [item.id for item in page.items] == sorted(item.id for item in page.items)
    assert page.next_page_token


@pytest.mark.parametrize("made_up", ["x", "AAAAAAAAAAAAAAAAAAAAAAAAAAA", "ünsinn", "%%%", "A" * 5000])
async def test_made_up_page_token_is_refused(product: ProductClient, made_up: str) -> None:
    with pytest.raises(InvalidPageToken) as refusal:
        await product.list_products(page_token=made_up)
    assert refusal.value.field == "page_token"


async def test_page_token_of_another_filter_is_refused(
    product: ProductClient, make_product: Make, category: str
) -> None:
    await make_product()
    await make_product()
    page = await product.list_products(page_size=1, category=category)
    with pytest.raises(InvalidPageToken):
        await product.list_products(page_size=1, page_token=page.next_page_token)
    with pytest.raises(InvalidPageToken):
        await product.list_products(page_size=1, page_token=page.next_page_token, category="other")


@pytest.mark.parametrize(
    "change",
    [
        {"title": "New"},
        {"description": ""},
        {"category": "c0001"},
        {"price": Money(5, "CHF")},
        {"stock": 0},
        {"title": "All", "description": "of", "category": "it", "price": Money(2, "EUR"), "stock": 3},
    ],
)
async def test_update_changes_the_named_fields_only(
    product: ProductClient, make_product: Make, change: dict[str, Any]
) -> None:
    made = await make_product()
    changed = await product.update_product(made.id, expected=made, **change)
    for name in ("id", "title", "description", "category", "price", "stock"):
        assert getattr(changed, name) == change.get(name, getattr(made, name))
    assert await product.get_product(made.id) == changed


async def test_a_change_applies_only_to_the_version_that_the_caller_read(
    product: ProductClient, make_product: Make
) -> None:
    made = await make_product()
    changed = await product.update_product(made.id, title="New", expected=made)
    for call in (
        product.update_product(made.id, title="Late", expected=made),
        product.delete_product(made.id, expected=made),
    ):
        with pytest.raises(PreconditionFailed, match=words("read it again")) as refusal:
            await call
        assert refusal.value.field == "expected"
    assert await product.get_product(made.id) == changed
    await product.delete_product(made.id, expected=changed)
    for call in (
        product.update_product(made.id, title="Late", expected=changed),
        product.delete_product(made.id, expected=changed),
    ):
        with pytest.raises(NotFound):
            await call


async def test_stock_changes_only_with_the_version_that_the_caller_read(
    product: ProductClient, make_product: Make
) -> None:
    made = await make_product()
    with pytest.raises(PreconditionRequired) as refusal:
        await product.update_product(made.id, stock=1)
    assert refusal.value.field == "expected"
    assert await product.get_product(made.id) == made


async def test_of_four_changes_of_one_version_one_succeeds(product: ProductClient, make_product: Make) -> None:
    now = await make_product()
    for round_ in range(40):
        outcomes = await asyncio.gather(
            *(product.update_product(now.id, title=f"{round_}/{rival}", expected=now) for rival in range(4)),
            return_exceptions=True,
        )
        (now,) = [outcome for outcome in outcomes if isinstance(outcome, Product)]
        assert sum(isinstance(outcome, PreconditionFailed) for outcome in outcomes) == 3


async def test_deleted_product_is_gone_with_its_reviews(
    product: ProductClient, make_product: Make, admin: psycopg.Connection
) -> None:
    made = await make_product()
    _review(admin, made.id, 5)
    await product.delete_product(made.id)
    with pytest.raises(NotFound):
        await product.get_product(made.id)
    with pytest.raises(NotFound):
        await product.delete_product(made.id)
    assert await product.batch_list_reviews([made.id]) == {made.id: ()}


async def test_reserved_product_is_deleted_only_after_its_release(product: ProductClient, make_product: Make) -> None:
    made, reservation = await make_product(), str(uuid.uuid4())
    await product.reserve_stock(reservation, [StockLine(made.id, 1)])
    with pytest.raises(FailedPrecondition) as refusal:
        await product.delete_product(made.id)
    assert refusal.value.field == "id"
    await product.release_reservation(reservation)
    await product.delete_product(made.id)


async def test_reviews_come_by_ascending_id_for_each_requested_product(
    product: ProductClient, make_product: Make, admin: psycopg.Connection
) -> None:
    many, none, few = await make_product(), await make_product(), await make_product()
    ids = [_review(admin, many.id, rating) for rating in (5, 4, 3, 2, 1)]
    only = _review(admin, few.id, 1)
    results = await product.batch_list_reviews([few.id, none.id, many.id, few.id])
    assert list(results) == [few.id, none.id, many.id]
    assert [review.id for review in results[many.id]] == ids[:3]
    assert [review.rating for review in results[many.id]] == [5, 4, 3]
    assert results[none.id] == ()
    assert [review.id for review in results[few.id]] == [only]
    more = await product.batch_list_reviews([many.id], limit=4)
    assert [review.id for review in more[many.id]] == ids[:4]


async def test_products_come_with_their_first_reviews(
    product: ProductClient, make_product: Make, category: str, admin: psycopg.Connection
) -> None:
    many, none, few = [await make_product() for _ in range(3)]
    ids = [_review(admin, many.id, rating) for rating in (5, 4, 3, 2, 1)]
    only = _review(admin, few.id, 1)

    batch = await product.batch_get_products_with_reviews([few.id, NOWHERE, none.id, many.id, few.id])
    assert await product.batch_get_products([few.id, none.id, many.id]) == [
        Product(*astuple(each)[:-1]) for each in batch
    ]
    assert [[review.id for review in each.reviews] for each in batch] == [[only], [], ids[:3]]
    reviews = await product.batch_list_reviews([few.id, none.id, many.id])
    assert {each.id: each.reviews for each in batch} == reviews

    page = await product.list_products_with_reviews(page_size=2, category=category, review_limit=4)
    assert [(each.id, len(each.reviews)) for each in page.items] == [(many.id, 4), (none.id, 0)]
    plain = await product.list_products(page_size=2, category=category)
    assert page.next_page_token == plain.next_page_token
    rest = await product.list_products_with_reviews(
        page_size=2, page_token=page.next_page_token, category=category, review_limit=4
    )
    assert [(each.id, len(each.reviews)) for each in rest.items] == [(few.id, 1)]
    assert rest.next_page_token == ""
    everything = await product.list_products_with_reviews()
    assert [each.id for each in everything.items] == [each.id for each in (await product.list_products()).items]


async def test_rows_are_streamed_by_ascending_id(product: ProductClient, make_product: Make) -> None:
    made = [await make_product(stock=stock) for stock in range(3)]
    rows = [row async for row in product.stream_product_rows(after_product_id=made[0].id - 1, limit=3)]
    assert [(row.product_id, row.title, row.price, row.stock) for row in rows] == [
        (item.id, item.title, item.price, item.stock) for item in made
    ]
    assert [row async for row in product.stream_product_rows(after_product_id=NOWHERE)] == []


async def test_long_stream_crosses_chunks_and_queries(product: ProductClient, admin: psycopg.Connection) -> None:
    admin.execute(
        "INSERT INTO shop_product.product (title, description, category, price_minor, currency, stock)"
        " SELECT 'row', '', 'stream', 1, 'EUR', 1 FROM generate_series(1, 5600)"
    )
    rows = [row.product_id async for row in product.stream_product_rows(limit=5501)]
    assert len(rows) == 5501
    assert rows == sorted(set(rows))
    assert len([row async for row in product.stream_product_rows()]) == 1000


async def test_unknown_product_is_not_found(product: ProductClient) -> None:
    with pytest.raises(NotFound, match=words(str(NOWHERE))):
        await product.get_product(NOWHERE)
    with pytest.raises(NotFound):
        await product.update_product(NOWHERE, title="New")


BAD: list[tuple[str, Callable[[ProductClient], Awaitable[Any]]]] = [
    ("id", lambda p: p.get_product(0)),
    ("id", lambda p: p.get_product(-1)),
    ("id", lambda p: p.get_product(2**63)),
    ("id", lambda p: p.delete_product(0)),
    ("ids", lambda p: p.batch_get_products([])),
    ("ids", lambda p: p.batch_get_products(list(range(1, 1002)))),
    ("ids[1]", lambda p: p.batch_get_products([1, 0])),
    ("page_size", lambda p: p.list_products(page_size=-1)),
    ("page_size", lambda p: p.list_products(page_size=1001)),
    ("page_size", lambda p: p.list_products(page_size=2**31)),
    ("category", lambda p: p.list_products(category="Not A Slug")),
    ("category", lambda p: p.list_products(category="a" * 41)),
    ("product_ids", lambda p: p.batch_list_reviews([])),
    ("product_ids[0]", lambda p: p.batch_list_reviews([-5])),
    ("limit", lambda p: p.batch_list_reviews([1], limit=21)),
    ("limit", lambda p: p.batch_list_reviews([1], limit=-1)),
    ("ids[1]", lambda p: p.batch_get_products_with_reviews([1, 0])),
    ("review_limit", lambda p: p.batch_get_products_with_reviews([1], review_limit=21)),
    ("review_limit", lambda p: p.list_products_with_reviews(review_limit=-1)),
    ("page_size", lambda p: p.list_products_with_reviews(page_size=1001)),
    ("category", lambda p: p.list_products_with_reviews(category="Not A Slug")),
    ("product.title", lambda p: create(p, title="")),
    ("product.title", lambda p: create(p, title="x" * 201)),
    ("product.title", lambda p: create(p, title="nul \x00")),
    ("product.description", lambda p: create(p, description="x" * 4001)),
    ("product.category", lambda p: create(p, category="")),
    ("product.category", lambda p: create(p, category="Tea")),
    ("product.price.amount_minor", lambda p: create(p, price=Money(0, "EUR"))),
    ("product.price.amount_minor", lambda p: create(p, price=Money(2**63, "EUR"))),
    ("product.price.amount_minor", lambda p: create(p, price=Money(10**12 + 1, "EUR"))),
    *[
        ("product.price.currency", lambda p, code=code: create(p, price=Money(1, code)))
        for code in ("euro", "ZZZ", "XTS", "DEM")
    ],
    ("product.stock", lambda p: create(p, stock=-1)),
    ("product.id", lambda p: p.update_product(0, title="x")),
    ("update_mask", lambda p: p.update_product(1)),
    ("product.title", lambda p: p.update_product(1, title="")),
    ("product.stock", lambda p: p.update_product(1, stock=-1)),
    ("product.price.currency", lambda p: p.update_product(1, price=Money(1, ""))),
    ("product.price.amount_minor", lambda p: p.update_product(1, price=Money(10**12 + 1, "EUR"))),
    ("after_product_id", lambda p: drain(p, after_product_id=-1)),
    ("limit", lambda p: drain(p, limit=100_001)),
    ("limit", lambda p: drain(p, limit=-1)),
]


@pytest.mark.parametrize(("field", "call"), BAD, ids=[f"{index}-{field}" for index, (field, _) in enumerate(BAD)])
async def test_argument_out_of_range_is_named(
    product: ProductClient, field: str, call: Callable[[ProductClient], Awaitable[Any]]
) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        await call(product)
    assert refusal.value.field == field
    assert field in refusal.value.message


async def create(client: ProductClient, **fields: Any) -> Product:
    good = {"title": "Tea", "description": "", "category": "tea", "price": Money(1, "EUR"), "stock": 1}
    return await client.create_product(**(good | fields))


async def drain(client: ProductClient, **arguments: int) -> None:
    async for _ in client.stream_product_rows(**arguments):
        pass


def _review(admin: psycopg.Connection, product_id: int, rating: int) -> Any:
    content = {"product_id": product_id, "user_id": 1, "rating": rating, "title": "Good", "body": "Very."}
    return insert(admin, "shop_product.review", **content)


@pytest.mark.parametrize("number", [1, 21, 66], ids=["100 bytes", "1,000 bytes", "1,000,000 bytes"])
async def test_document_is_as_seeded(product: ProductClient, number: int) -> None:
    assert await product.get_document(number) == next(one for one in documents(1) if one.id == number)


async def test_unknown_document_is_not_found(product: ProductClient) -> None:
    with pytest.raises(NotFound):
        await product.get_document(NOWHERE)
    with pytest.raises(InvalidArgument):
        await product.get_document(0)
