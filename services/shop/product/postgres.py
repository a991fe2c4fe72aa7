"""The catalogue's tables in PostgreSQL (product/migrations)."""

# Only the list of columns below is put into a statement as text.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from itertools import groupby
from operator import itemgetter

import asyncpg

from shop.money import Money
from shop.platform.database.pool import Connection, Database
from shop.platform.database.statements import Statement
from shop.product.domain import NewProduct, ProductChange
from shop.values.product import (
    Document,
    DocumentRecord,
    DocumentSection,
    Product,
    ProductRow,
    Reservation,
    ReservationState,
    ReservedLine,
    Review,
    ReviewedProduct,
)

_COLUMNS = "id, title, description, category, price_minor, currency, stock"

GET = Statement("SELECT product", f"SELECT {_COLUMNS} FROM product WHERE id = $1")
BATCH_GET = Statement("SELECT product", f"SELECT {_COLUMNS} FROM product WHERE id = ANY($1::bigint[])")
PAGE = Statement("SELECT product", f"SELECT {_COLUMNS} FROM product WHERE id > $1 ORDER BY id LIMIT $2")
PAGE_OF_CATEGORY = Statement(
    "SELECT product", f"SELECT {_COLUMNS} FROM product WHERE category = $3 AND id > $1 ORDER BY id LIMIT $2"
)
# A product has a row for each review, and a single row if there are no reviews.
_WITH_REVIEWS = """
    SELECT product.*, review.id AS review_id, review.user_id, review.rating, review.title AS headline, review.body
    FROM ({products}) AS product LEFT JOIN LATERAL (
        SELECT * FROM review WHERE review.product_id = product.id ORDER BY review.id LIMIT {limit}
    ) AS review ON true
    ORDER BY product.id, review.id"""
BATCH_GET_WITH_REVIEWS = Statement("SELECT product", _WITH_REVIEWS.format(products=BATCH_GET.sql, limit="$2"))
PAGE_WITH_REVIEWS = Statement("SELECT product", _WITH_REVIEWS.format(products=PAGE.sql, limit="$3"))
PAGE_OF_CATEGORY_WITH_REVIEWS = Statement(
    "SELECT product", _WITH_REVIEWS.format(products=PAGE_OF_CATEGORY.sql, limit="$4")
)
ADD = Statement(
    "INSERT product",
    f"""
    INSERT INTO product (title, description, category, price_minor, currency, stock, stocked)
    VALUES ($1, $2, $3, $4, $5, $6, $6)
    RETURNING {_COLUMNS}""",
)
# `stocked` grows by the intended amount, so that the audit notices a change that was made to another value of stock.
CHANGE = Statement(
    "UPDATE product",
    f"""
    UPDATE product
    SET title = coalesce($2, title), description = coalesce($3, description), category = coalesce($4, category),
        price_minor = coalesce($5, price_minor), currency = coalesce($6, currency), stock = coalesce($7, stock),
        stocked = stocked + coalesce($7 - $13, 0)
    WHERE id = $1 AND (
        $8::text IS NULL
        OR (title, description, category, price_minor, currency, stock) = ($8, $9, $10, $11, $12, $13::bigint)
    )
    RETURNING {_COLUMNS}""",
)
REVIEWS = Statement(
    "SELECT review",
    """
    SELECT first.id, first.product_id, first.user_id, first.rating, first.title, first.body
    FROM unnest($1::bigint[]) AS wanted (product_id)
    CROSS JOIN LATERAL (
        SELECT * FROM review WHERE review.product_id = wanted.product_id ORDER BY review.id LIMIT $2
    ) AS first
    ORDER BY first.product_id, first.id""",
)
ROWS = Statement(
    "SELECT product", "SELECT id, title, price_minor, currency, stock FROM product WHERE id > $1 ORDER BY id LIMIT $2"
)
RECORDS = "SELECT section, text, count, value, ok, at, price_minor, currency, document_id FROM document_record"
DOCUMENT = Statement("SELECT document_record", f"{RECORDS} WHERE document_id = $1 ORDER BY number")

CLAIM = Statement(
    "INSERT reservation", "INSERT INTO reservation (id, state) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING RETURNING id"
)
FIND_LOCKED = Statement(
    "SELECT reservation",
    """
    SELECT reservation.state, line.product_id, line.quantity, line.unit_price_minor, line.currency
    FROM reservation LEFT JOIN reservation_line AS line ON line.reservation_id = reservation.id
    WHERE reservation.id = $1
    ORDER BY line.product_id
    FOR UPDATE OF reservation""",
)
PRODUCTS_LOCKED = Statement(
    "SELECT product", f"SELECT {_COLUMNS} FROM product WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE"
)
TAKE = Statement(
    "INSERT reservation_line",
    """
    WITH line AS (
        SELECT * FROM unnest($2::bigint[], $3::int[], $4::bigint[], $5::text[])
            AS line (product_id, quantity, unit_price_minor, currency)
    ), taken AS (
        UPDATE product SET stock = stock - line.quantity FROM line WHERE product.id = line.product_id
    )
    INSERT INTO reservation_line (reservation_id, product_id, quantity, unit_price_minor, currency)
    SELECT $1, product_id, quantity, unit_price_minor, currency FROM line""",
)
# One statement locks the products in the order of their ids, and then changes them and the reservation.
MOVE = Statement(
    "UPDATE product",
    """
    WITH moved AS (
        UPDATE reservation SET state = $2 WHERE id = $1
    ), locked AS MATERIALIZED (
        SELECT id FROM product WHERE id = ANY($3::bigint[]) ORDER BY id FOR UPDATE
    )
    UPDATE product
    SET stock = stock + line.quantity * $5, sold = sold + line.quantity * $6
    FROM locked JOIN unnest($3::bigint[], $4::bigint[]) AS line (product_id, quantity) ON line.product_id = locked.id
    WHERE product.id = locked.id""",
)
IS_HELD = Statement(
    "SELECT reservation_line",
    """
    SELECT EXISTS (
        SELECT FROM reservation_line AS line JOIN reservation ON reservation.id = line.reservation_id
        WHERE line.product_id = $1 AND reservation.state = 'HELD')""",
)
DELETE = Statement("DELETE product", "DELETE FROM product WHERE id = $1")


class PostgresStockTransaction:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def claim(self, reservation_id: str, state: ReservationState) -> bool:
        return await self._connection.fetchval(CLAIM, reservation_id, state.value) is not None

    async def find_locked(self, reservation_id: str) -> Reservation | None:
        rows = await self._connection.fetch(FIND_LOCKED, reservation_id)
        if not rows:
            return None
        lines = tuple(ReservedLine(row[1], row[2], Money(row[3], row[4])) for row in rows if row[1] is not None)
        return Reservation(reservation_id, ReservationState(rows[0][0]), lines)

    async def products_locked(self, ids: Sequence[int]) -> list[Product]:
        return [product_of(row) for row in await self._connection.fetch(PRODUCTS_LOCKED, ids)]

    async def take(self, reservation_id: str, lines: Sequence[ReservedLine]) -> None:
        await self._connection.execute(
            TAKE,
            reservation_id,
            [line.product_id for line in lines],
            [line.quantity for line in lines],
            [line.unit_price.amount_minor for line in lines],
            [line.unit_price.currency for line in lines],
        )

    async def confirm(self, reservation: Reservation) -> None:
        await self._move(reservation, ReservationState.CONFIRMED, stock=0, sold=1)

    async def give_back(self, reservation: Reservation) -> None:
        was_sold = reservation.state is ReservationState.CONFIRMED
        await self._move(reservation, ReservationState.RELEASED, stock=1, sold=-1 if was_sold else 0)

    async def is_held(self, product_id: int) -> bool:
        return bool(await self._connection.fetchval(IS_HELD, product_id))

    async def delete(self, product_id: int) -> None:
        await self._connection.execute(DELETE, product_id)

    async def _move(self, reservation: Reservation, state: ReservationState, *, stock: int, sold: int) -> None:
        ids = [line.product_id for line in reservation.lines]
        quantities = [line.quantity for line in reservation.lines]
        await self._connection.execute(MOVE, reservation.id, state.value, ids, quantities, stock, sold)


class PostgresProductStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, product_id: int) -> Product | None:
        row = await self._database.fetchrow(GET, product_id)
        return product_of(row) if row is not None else None

    async def batch_get(self, ids: Sequence[int]) -> list[Product]:
        return [product_of(row) for row in await self._database.fetch(BATCH_GET, ids)]

    async def page(self, *, after: int, limit: int, category: str) -> list[Product]:
        if category:
            rows = await self._database.fetch(PAGE_OF_CATEGORY, after, limit, category)
        else:
            rows = await self._database.fetch(PAGE, after, limit)
        return [product_of(row) for row in rows]

    async def batch_get_with_reviews(self, ids: Sequence[int], review_limit: int) -> list[ReviewedProduct]:
        return reviewed_of(await self._database.fetch(BATCH_GET_WITH_REVIEWS, ids, review_limit))

    async def page_with_reviews(
        self, *, after: int, limit: int, category: str, review_limit: int
    ) -> list[ReviewedProduct]:
        if category:
            rows = await self._database.fetch(PAGE_OF_CATEGORY_WITH_REVIEWS, after, limit, category, review_limit)
        else:
            rows = await self._database.fetch(PAGE_WITH_REVIEWS, after, limit, review_limit)
        return reviewed_of(rows)

    async def add(self, product: NewProduct) -> Product:
        row = await self._database.fetchrow(
            ADD,
            product.title,
            product.description,
            product.category,
            product.price.amount_minor,
            product.price.currency,
            product.stock,
        )
        assert row is not None, "INSERT RETURNING gives a row"
        return product_of(row)

    async def change(self, product_id: int, change: ProductChange, expected: Product | None) -> Product | None:
        row = await self._database.fetchrow(CHANGE, product_id, *_values(change), *_values(expected or ProductChange()))
        return product_of(row) if row is not None else None

    async def reviews(self, product_ids: Sequence[int], limit: int) -> list[Review]:
        rows = await self._database.fetch(REVIEWS, product_ids, limit)
        return [Review(row[0], row[1], row[2], row[3], row[4], row[5]) for row in rows]

    async def rows(self, *, after: int, limit: int) -> list[ProductRow]:
        rows = await self._database.fetch(ROWS, after, limit)
        return [ProductRow(row[0], row[1], Money(row[2], row[3]), row[4]) for row in rows]

    async def document(self, document_id: int) -> Document | None:
        rows = await self._database.fetch(DOCUMENT, document_id)
        return document_of(document_id, rows) if rows else None

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[PostgresStockTransaction]:
        async with self._database.transaction() as connection:
            yield PostgresStockTransaction(connection)


def product_of(row: asyncpg.Record) -> Product:
    """Returns the product in a row of `_COLUMNS`."""
    id_, title, description, category, price_minor, currency, stock = row
    return Product(id_, title, description, category, Money(price_minor, currency), stock)


def reviewed_of(rows: Iterable[asyncpg.Record]) -> list[ReviewedProduct]:
    """Returns the products in rows of `_WITH_REVIEWS`, in the order of the rows."""
    products = []
    for product_id, some in groupby(rows, key=itemgetter(0)):
        first, *_ = each = list(some)
        _, title, description, category, price_minor, currency, stock, *_ = first
        reviews = tuple(Review(row[7], product_id, *row[8:]) for row in each if row[7] is not None)
        products.append(
            ReviewedProduct(product_id, title, description, category, Money(price_minor, currency), stock, reviews)
        )
    return products


def _values(fields: ProductChange | Product) -> tuple[str | int | None, ...]:
    """Returns the values of a product's columns after its id; None for fields that are None."""
    money = (None, None) if fields.price is None else (fields.price.amount_minor, fields.price.currency)
    return (fields.title, fields.description, fields.category, *money, fields.stock)


def document_of(document_id: int, rows: Iterable[asyncpg.Record]) -> Document:
    """Returns the document in rows of `RECORDS`, in the order of the rows."""
    return Document(
        document_id,
        tuple(
            DocumentSection(title, tuple(map(_record_of, records)))
            for title, records in groupby(rows, key=itemgetter(0))
        ),
    )


def _record_of(row: asyncpg.Record) -> DocumentRecord:
    _, text, count, value, ok, at, price_minor, currency, _ = row
    price = None if price_minor is None else Money(price_minor, currency)
    return DocumentRecord(text, count, value, ok, at, price)
