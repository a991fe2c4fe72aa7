"""The catalogue in memory, filled from its tables: it shows what a call costs without its database."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from itertools import groupby

from msgspec.structs import asdict, replace

from memory_stores.loading import in_memory
from shop.fields import MAX_ID
from shop.money import Money
from shop.platform.database.pool import Connection
from shop.product.domain import NewProduct, ProductChange, with_reviews
from shop.product.postgres import PAGE, RECORDS, document_of, product_of
from shop.values.product import (
    Document,
    Product,
    ProductRow,
    Reservation,
    ReservationState,
    ReservedLine,
    Review,
    ReviewedProduct,
)

REVIEWS = "SELECT id, product_id, user_id, rating, title, body FROM review ORDER BY id"
RESERVATIONS = """
    SELECT reservation.id, reservation.state, line.product_id, line.quantity, line.unit_price_minor, line.currency
    FROM reservation LEFT JOIN reservation_line AS line ON line.reservation_id = reservation.id
    ORDER BY reservation.id, line.product_id"""

DOCUMENTS = f"{RECORDS} ORDER BY document_id, number"


class MemoryProductStore:
    """The catalogue's tables in one process, and a transaction on stock; stock excludes the pieces of reservations."""

    def __init__(
        self,
        products: Iterable[Product] = (),
        reviews: Iterable[Review] = (),
        reservations: Iterable[Reservation] = (),
        documents: Iterable[Document] = (),
    ) -> None:
        self._products: dict[int, Product] = {}
        self._ids: list[int] = []
        self._of_category: dict[str, list[int]] = {}
        self._reviews: dict[int, list[Review]] = {}
        self._reservations = {reservation.id: reservation for reservation in reservations}
        self._documents = {document.id: document for document in documents}
        self._claimed: list[str] = []
        for product in sorted(products, key=lambda product: product.id):
            self._insert(product)
        for review in sorted(reviews, key=lambda review: review.id):
            self._reviews.setdefault(review.product_id, []).append(review)
        self._last_id = self._ids[-1] if self._ids else 0

    @classmethod
    async def load(cls, connection: Connection) -> MemoryProductStore:
        return cls(
            [product_of(row) for row in await connection.fetch(PAGE, 0, MAX_ID)],
            [Review(*row) for row in await connection.fetch(REVIEWS)],
            [
                Reservation(
                    str(reservation_id),
                    ReservationState(state),
                    tuple(ReservedLine(row[2], row[3], Money(row[4], row[5])) for row in rows if row[2] is not None),
                )
                for (reservation_id, state), rows in groupby(
                    await connection.fetch(RESERVATIONS), key=lambda row: (row[0], row[1])
                )
            ],
            [
                document_of(document_id, rows)
                for document_id, rows in groupby(await connection.fetch(DOCUMENTS), key=lambda row: row[-1])
            ],
        )

    async def get(self, product_id: int) -> Product | None:
        return self._products.get(product_id)

    async def batch_get(self, ids: Sequence[int]) -> list[Product]:
        return [self._products[product_id] for product_id in ids if product_id in self._products]

    async def page(self, *, after: int, limit: int, category: str) -> list[Product]:
        ids = self._of_category.get(category, []) if category else self._ids
        start = bisect_right(ids, after)
        return [self._products[product_id] for product_id in ids[start : start + limit]]

    async def add(self, product: NewProduct) -> Product:
        self._last_id += 1
        added = Product(
            self._last_id, product.title, product.description, product.category, product.price, product.stock
        )
        self._insert(added)
        return added

    async def change(self, product_id: int, change: ProductChange, expected: Product | None) -> Product | None:
        before = self._products.get(product_id)
        if before is None or expected not in (None, before):
            return None
        after = replace(before, **{name: value for name, value in asdict(change).items() if value is not None})
        if after.category != before.category:
            self._remove(product_id)
            self._insert(after)
        self._products[product_id] = after
        return after

    async def reviews(self, product_ids: Sequence[int], limit: int) -> list[Review]:
        return [review for product_id in product_ids for review in self._reviews.get(product_id, [])[:limit]]

    async def batch_get_with_reviews(self, ids: Sequence[int], review_limit: int) -> list[ReviewedProduct]:
        return with_reviews(await self.batch_get(ids), await self.reviews(ids, review_limit))

    async def page_with_reviews(
        self, *, after: int, limit: int, category: str, review_limit: int
    ) -> list[ReviewedProduct]:
        products = await self.page(after=after, limit=limit, category=category)
        return with_reviews(products, await self.reviews([product.id for product in products], review_limit))

    async def rows(self, *, after: int, limit: int) -> list[ProductRow]:
        products = await self.page(after=after, limit=limit, category="")
        return [ProductRow(product.id, product.title, product.price, product.stock) for product in products]

    async def document(self, document_id: int) -> Document | None:
        return self._documents.get(document_id)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[MemoryProductStore]:
        """Yields the store itself. Transactions never overlap, because a use case awaits nothing else inside one.

        A use case that fails has at most claimed reservations before, so only those are taken back.
        """
        self._claimed.clear()
        try:
            yield self
        except BaseException:
            for reservation_id in self._claimed:
                del self._reservations[reservation_id]
            raise

    async def claim(self, reservation_id: str, state: ReservationState) -> bool:
        if reservation_id in self._reservations:
            return False
        self._set(Reservation(reservation_id, state, ()))
        self._claimed.append(reservation_id)
        return True

    async def find_locked(self, reservation_id: str) -> Reservation | None:
        return self._reservations.get(reservation_id)

    async def products_locked(self, ids: Sequence[int]) -> list[Product]:
        return await self.batch_get(sorted(ids))

    async def take(self, reservation_id: str, lines: Sequence[ReservedLine]) -> None:
        self._move(lines, -1)
        self._set(replace(self._reservations[reservation_id], lines=tuple(lines)))

    async def confirm(self, reservation: Reservation) -> None:
        self._set(replace(reservation, state=ReservationState.CONFIRMED))

    async def give_back(self, reservation: Reservation) -> None:
        self._move(reservation.lines, 1)
        self._set(replace(reservation, state=ReservationState.RELEASED))

    async def is_held(self, product_id: int) -> bool:
        return any(
            line.product_id == product_id
            for reservation in self._reservations.values()
            if reservation.state is ReservationState.HELD
            for line in reservation.lines
        )

    async def delete(self, product_id: int) -> None:
        self._reviews.pop(product_id, None)
        self._remove(product_id)

    def _insert(self, product: Product) -> None:
        self._products[product.id] = product
        insort(self._ids, product.id)
        insort(self._of_category.setdefault(product.category, []), product.id)

    def _remove(self, product_id: int) -> None:
        product = self._products.pop(product_id)
        for ids in (self._ids, self._of_category[product.category]):
            del ids[bisect_left(ids, product_id)]

    def _move(self, lines: Sequence[ReservedLine], direction: int) -> None:
        for line in lines:
            product = self._products.get(line.product_id)
            # An order outlives its products.
            if product is not None:
                stock = product.stock + direction * line.quantity
                self._products[product.id] = replace(product, stock=stock)

    def _set(self, reservation: Reservation) -> None:
        self._reservations[reservation.id] = reservation


open_store = in_memory(MemoryProductStore.load)
