"""The use cases of the catalogue, independent of protocol and database."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar, Unpack

from shop.contract.ports import Page
from shop.errors import FailedPrecondition, InvalidArgument, NotFound, PreconditionRequired, changed_since, no_such
from shop.fields import MAX_ID
from shop.money import Money
from shop.platform import page_token as page_tokens
from shop.platform import validation
from shop.product.domain import NewProduct, ProductChange, must_be_confirmed, reserve, reserved_again
from shop.product.ports import ProductStore
from shop.values.order import MAX_LINES
from shop.values.page import DEFAULT_ROWS, MAX_ROWS
from shop.values.product import (
    MAX_PRICE_MINOR,
    MAX_REVIEWS,
    Document,
    DocumentSection,
    Product,
    ProductFields,
    ProductRow,
    Reservation,
    ReservationState,
    Review,
    ReviewedProduct,
    StockLine,
)

P = TypeVar("P", bound=Product)

PAGE_SIZE = 20
MAX_PAGE = 1_000
REVIEWS = 3
MAX_PIECES = 1_000
MAX_STOCK = 1_000_000_000
"""Maximum stock that can be set; the column holds far more, so that reserved pieces can always be returned."""
ROWS_PER_CHUNK = 250
ROWS_PER_QUERY = 5_000
"""Maximum number of rows per query of a stream: most streams need one query, and the rows need little memory."""
SECTIONS_PER_CHUNK = 10

_CATEGORY = re.compile(r"[a-z0-9-]{1,40}")
_CATEGORY_FORM = "1 to 40 lower-case letters, digits or hyphens, such as c0042"


class ProductService:
    """The catalogue's use cases: the methods of `shop.contract.ports.ProductClient`; streams come in chunks."""

    def __init__(self, store: ProductStore, *, page_token_key: bytes = page_tokens.DEFAULT_KEY) -> None:
        self._store = store
        self._key = page_token_key

    async def get_product(self, product_id: int) -> Product:
        product = await self._store.get(validation.identifier(product_id, "id"))
        if product is None:
            raise no_such("product", product_id)
        return product

    async def batch_get_products(self, ids: Sequence[int]) -> list[Product]:
        wanted = validation.identifiers(ids, "ids")
        return _in_order(wanted, await self._store.batch_get(wanted))

    async def batch_get_products_with_reviews(
        self, ids: Sequence[int], *, review_limit: int = 0
    ) -> list[ReviewedProduct]:
        wanted = validation.identifiers(ids, "ids")
        each = validation.size(review_limit, "review_limit", default=REVIEWS, maximum=MAX_REVIEWS)
        return _in_order(wanted, await self._store.batch_get_with_reviews(wanted, each))

    async def list_products(self, *, page_size: int = 0, page_token: str = "", category: str = "") -> Page[Product]:
        return await self._page(self._store.page, page_size, page_token, category)

    async def list_products_with_reviews(
        self, *, page_size: int = 0, page_token: str = "", category: str = "", review_limit: int = 0
    ) -> Page[ReviewedProduct]:
        each = validation.size(review_limit, "review_limit", default=REVIEWS, maximum=MAX_REVIEWS)
        read = partial(self._store.page_with_reviews, review_limit=each)
        return await self._page(read, page_size, page_token, category)

    async def _page(
        self, read: Callable[..., Awaitable[list[P]]], page_size: int, page_token: str, category: str
    ) -> Page[P]:
        limit = validation.size(page_size, "page_size", default=PAGE_SIZE, maximum=MAX_PAGE)
        if category:
            validation.matching(category, "category", _CATEGORY, _CATEGORY_FORM)
        scope = f"ListProducts:{category}"
        after = page_tokens.decode(page_token, scope, key=self._key)
        # One product more than the page holds shows whether there is a next page.
        products = await read(after=after, limit=limit + 1, category=category)
        return Page(*page_tokens.cut(products, limit, scope, key=self._key))

    async def create_product(self, *, title: str, description: str, category: str, price: Money, stock: int) -> Product:
        product = NewProduct(title, description, category, price, stock)
        _check_fields(product)
        return await self._store.add(product)

    async def update_product(
        self, product_id: int, *, expected: Product | None = None, **fields: Unpack[ProductFields]
    ) -> Product:
        validation.identifier(product_id, "product.id")
        change = ProductChange(**fields)
        if change == ProductChange():
            raise InvalidArgument(
                "update_mask must name at least one of: title, description, category, price, stock", field="update_mask"
            )
        _check_fields(change)
        if expected is not None:
            _check_expected(expected, product_id)
        elif change.stock is not None:
            raise PreconditionRequired(
                "customers change the stock, too: say what you read, in REST by If-Match, else by expected",
                field="expected",
            )
        product = await self._store.change(product_id, change, expected)
        if product is None:
            if expected is not None and await self._store.get(product_id) is not None:
                raise changed_since("product", product_id)
            raise no_such("product", product_id)
        return product

    async def delete_product(self, product_id: int, *, expected: Product | None = None) -> None:
        validation.identifier(product_id, "id")
        if expected is not None:
            _check_expected(expected, product_id)
        async with self._store.transaction() as stock:
            locked = await stock.products_locked([product_id])
            if not locked:
                raise no_such("product", product_id)
            if expected not in (None, locked[0]):
                raise changed_since("product", product_id)
            if await stock.is_held(product_id):
                raise FailedPrecondition(f"product {product_id} has reserved stock; delete it later", field="id")
            await stock.delete(product_id)

    async def batch_list_reviews(self, product_ids: Sequence[int], *, limit: int = 0) -> dict[int, list[Review]]:
        wanted = validation.identifiers(product_ids, "product_ids")
        each = validation.size(limit, "limit", default=REVIEWS, maximum=MAX_REVIEWS)
        reviews: dict[int, list[Review]] = {product_id: [] for product_id in wanted}
        for review in await self._store.reviews(wanted, each):
            reviews[review.product_id].append(review)
        return reviews

    async def reserve_stock(self, reservation_id: str, lines: Sequence[StockLine]) -> Reservation:
        key = validation.uuid_text(reservation_id, "reservation_id")
        _check_lines(lines)
        async with self._store.transaction() as stock:
            if not await stock.claim(key, ReservationState.HELD):
                existing = await stock.find_locked(key)
                if existing is None:
                    raise FailedPrecondition(f"reservation {key} is gone; choose a new id", field="reservation_id")
                return reserved_again(existing, lines)
            products = await stock.products_locked(sorted(line.product_id for line in lines))
            reserved = reserve(lines, {product.id: product for product in products})
            await stock.take(key, reserved)
        return Reservation(key, ReservationState.HELD, reserved)

    async def confirm_reservation(self, reservation_id: str) -> Reservation:
        key = validation.uuid_text(reservation_id, "reservation_id")
        async with self._store.transaction() as stock:
            reservation = await stock.find_locked(key)
            if reservation is None:
                raise NotFound(f"reservation {key} does not exist", field="reservation_id")
            if must_be_confirmed(reservation):
                await stock.confirm(reservation)
        return Reservation(key, ReservationState.CONFIRMED, reservation.lines)

    async def release_reservation(self, reservation_id: str) -> Reservation:
        key = validation.uuid_text(reservation_id, "reservation_id")
        async with self._store.transaction() as stock:
            if await stock.claim(key, ReservationState.RELEASED):
                return Reservation(key, ReservationState.RELEASED, ())
            reservation = await stock.find_locked(key)
            if reservation is None:
                raise NotFound(f"reservation {key} does not exist", field="reservation_id")
            if reservation.state is not ReservationState.RELEASED:
                await stock.give_back(reservation)
        return Reservation(key, ReservationState.RELEASED, reservation.lines)

    async def stream_product_rows(
        self, *, after_product_id: int = 0, limit: int = 0
    ) -> AsyncIterator[Sequence[ProductRow]]:
        """Yields product rows by ascending id, in chunks of up to `ROWS_PER_CHUNK`."""
        after = validation.between(after_product_id, "after_product_id", 0, MAX_ID)
        left = validation.size(limit, "limit", default=DEFAULT_ROWS, maximum=MAX_ROWS)
        while left > 0:
            asked = min(left, ROWS_PER_QUERY)
            rows = await self._store.rows(after=after, limit=asked)
            for start in range(0, len(rows), ROWS_PER_CHUNK):
                yield rows[start : start + ROWS_PER_CHUNK]
            if len(rows) < asked:
                return
            after = rows[-1].product_id
            left -= asked

    async def get_document(self, document_id: int) -> Document:
        document = await self._store.document(validation.identifier(document_id, "id"))
        if document is None:
            raise no_such("document", document_id)
        return document

    async def stream_document(self, document_id: int) -> AsyncIterator[Sequence[DocumentSection]]:
        """Yields a document's sections in their order, in chunks of up to `SECTIONS_PER_CHUNK`."""
        sections = (await self.get_document(document_id)).sections
        for start in range(0, len(sections), SECTIONS_PER_CHUNK):
            yield sections[start : start + SECTIONS_PER_CHUNK]


def _in_order(ids: Sequence[int], products: Sequence[P]) -> list[P]:
    by_id = {product.id: product for product in products}
    return [by_id[product_id] for product_id in ids if product_id in by_id]


def _check_fields(given: NewProduct | ProductChange) -> None:
    if given.title is not None:
        validation.text(given.title, "product.title", 1, 200)
    if given.description is not None:
        validation.text(given.description, "product.description", 0, 4_000)
    if given.category is not None:
        validation.matching(given.category, "product.category", _CATEGORY, _CATEGORY_FORM)
    if given.price is not None:
        validation.positive_money(given.price, "product.price", maximum=MAX_PRICE_MINOR)
    if given.stock is not None:
        validation.between(given.stock, "product.stock", 0, MAX_STOCK)


def _check_expected(expected: Product, product_id: int) -> None:
    """Checks that an expected product can be compared with the row."""
    validation.between(expected.id, "expected.id", product_id, product_id)
    validation.between(expected.stock, "expected.stock", 0, MAX_ID)
    for field, value in (
        ("title", expected.title),
        ("description", expected.description),
        ("category", expected.category),
        ("price.currency", expected.price.currency),
    ):
        validation.text(value, f"expected.{field}", 0, 4_000)


def _check_lines(lines: Sequence[StockLine]) -> None:
    if not 1 <= len(lines) <= MAX_LINES:
        raise InvalidArgument(f"lines has {len(lines)} entries; it must have 1 to {MAX_LINES}", field="lines")
    for index, line in enumerate(lines):
        validation.identifier(line.product_id, f"lines[{index}].product_id")
        validation.between(line.quantity, f"lines[{index}].quantity", 1, MAX_PIECES)
    validation.distinct([line.product_id for line in lines], lambda index: f"lines[{index}].product_id")
