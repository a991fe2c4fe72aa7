"""What the catalogue needs from its database."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from shop.product.domain import NewProduct, ProductChange
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


class StockTransaction(Protocol):
    """One transaction on stock: all of its steps take effect, or none.

    A reservation is always locked before its products, and products in the order of their ids, so that two
    transactions never wait for each other.
    """

    async def claim(self, reservation_id: str, state: ReservationState) -> bool:
        """Adds a reservation without lines, once no other transaction is adding it; returns False if the id exists."""

    async def find_locked(self, reservation_id: str) -> Reservation | None:
        """Locks and returns a reservation with its lines, sorted by product id."""

    async def products_locked(self, ids: Sequence[int]) -> list[Product]:
        """Locks and returns the products that exist, in the order of their ids."""

    async def take(self, reservation_id: str, lines: Sequence[ReservedLine]) -> None:
        """Takes stock from the lines' products, which must be locked, and adds the lines to the reservation."""

    async def confirm(self, reservation: Reservation) -> None:
        """Makes a reservation CONFIRMED and counts its pieces as sold."""

    async def give_back(self, reservation: Reservation) -> None:
        """Makes a reservation RELEASED, returns its pieces, and no longer counts them as sold."""

    async def is_held(self, product_id: int) -> bool:
        """Returns whether a HELD reservation has pieces of a product."""

    async def delete(self, product_id: int) -> None:
        """Removes a product, which must be locked, and its reviews."""


class ProductStore(Protocol):
    """The catalogue's tables."""

    async def get(self, product_id: int) -> Product | None:
        """Returns one product."""

    async def batch_get(self, ids: Sequence[int]) -> list[Product]:
        """Returns the products that exist, in any order, with one query."""

    async def page(self, *, after: int, limit: int, category: str) -> list[Product]:
        """Returns products with ids above `after`, by ascending id; all categories if `category` is empty."""

    async def add(self, product: NewProduct) -> Product:
        """Adds a product."""

    async def change(self, product_id: int, change: ProductChange, expected: Product | None) -> Product | None:
        """Changes a product; returns None if the product does not exist, or differs from a given `expected`."""

    async def reviews(self, product_ids: Sequence[int], limit: int) -> list[Review]:
        """Returns up to `limit` reviews of each product, by ascending id, with one query."""

    async def batch_get_with_reviews(self, ids: Sequence[int], review_limit: int) -> list[ReviewedProduct]:
        """Returns the products that exist with up to `review_limit` reviews each, in any order; makes one query."""

    async def page_with_reviews(
        self, *, after: int, limit: int, category: str, review_limit: int
    ) -> list[ReviewedProduct]:
        """Returns the products of `page`, with up to `review_limit` reviews each; makes one query."""

    async def rows(self, *, after: int, limit: int) -> list[ProductRow]:
        """Returns product rows with ids above `after`, by ascending id."""

    async def document(self, document_id: int) -> Document | None:
        """Returns one technical document."""

    def transaction(self) -> AbstractAsyncContextManager[StockTransaction]:
        """Opens a transaction that commits at its end, or rolls back on an error."""
