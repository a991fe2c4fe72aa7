"""The catalogue: its rules, without any I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from shop.errors import FailedPrecondition, NotFound, OutOfStock
from shop.money import Money
from shop.values.product import Product, Reservation, ReservationState, ReservedLine, Review, ReviewedProduct, StockLine


class NewProduct(Struct, frozen=True, gc=False):
    """A product before it has an id."""

    title: str
    description: str
    category: str
    price: Money
    stock: int


class ProductChange(Struct, frozen=True, gc=False):
    """New values of a product's fields; None leaves a field as it is."""

    title: str | None = None
    description: str | None = None
    category: str | None = None
    price: Money | None = None
    stock: int | None = None


def with_reviews(products: Iterable[Product], reviews: Iterable[Review]) -> list[ReviewedProduct]:
    """Joins products with their reviews; products and reviews stay in the given order."""
    of_product: dict[int, list[Review]] = {}
    for review in reviews:
        of_product.setdefault(review.product_id, []).append(review)
    return [
        ReviewedProduct(
            product.id,
            product.title,
            product.description,
            product.category,
            product.price,
            product.stock,
            tuple(of_product.get(product.id, ())),
        )
        for product in products
    ]


def reserve(lines: Sequence[StockLine], products: Mapping[int, Product]) -> tuple[ReservedLine, ...]:
    """Returns the requested lines, each of another product, with current prices and sorted by product id.

    Raises:
        NotFound: A product does not exist.
        OutOfStock: A product has too few pieces.
    """
    reserved = []
    for index, line in enumerate(lines):
        product = products.get(line.product_id)
        if product is None:
            raise NotFound(f"product {line.product_id} does not exist", field=f"lines[{index}].product_id")
        if product.stock < line.quantity:
            raise OutOfStock(
                f"product {line.product_id} has only {product.stock} in stock, {line.quantity} were requested",
                field=f"lines[{index}].quantity",
            )
        reserved.append(ReservedLine(line.product_id, line.quantity, product.price))
    return tuple(sorted(reserved, key=lambda line: line.product_id))


def reserved_again(reservation: Reservation, lines: Sequence[StockLine]) -> Reservation:
    """Answers a second request; raises `FailedPrecondition` if the reservation is released or has other lines."""
    if reservation.state is ReservationState.RELEASED:
        raise FailedPrecondition(f"reservation {reservation.id} was released; choose a new id", field="reservation_id")
    if {(line.product_id, line.quantity) for line in reservation.lines} != {
        (line.product_id, line.quantity) for line in lines
    }:
        raise FailedPrecondition(
            f"reservation {reservation.id} holds other lines; choose a new id", field="reservation_id"
        )
    return reservation


def must_be_confirmed(reservation: Reservation) -> bool:
    """Returns whether a reservation is still to be confirmed; raises `FailedPrecondition` if it was released."""
    if reservation.state is ReservationState.RELEASED:
        raise FailedPrecondition(
            f"reservation {reservation.id} was released and cannot be confirmed", field="reservation_id"
        )
    return reservation.state is ReservationState.HELD
