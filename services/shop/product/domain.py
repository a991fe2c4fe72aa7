"""The catalogue: its types and rules, without any input or output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from msgspec import Struct

from shop.errors import FailedPrecondition, NotFound, OutOfStock
from shop.fields import Id, documented
from shop.money import Money

LARGEST_PRICE_MINOR = 10**12
"""Most that one piece may cost: the largest checkout at such prices still has a total that fits 64 bits."""

Title = Annotated[str, documented("Name shown to customers.")]
Description = Annotated[str, documented("Plain text.")]
Category = Annotated[str, documented("Category slug.")]
Price = Annotated[Money, documented("Price of one piece.")]
Stock = Annotated[int, documented("Pieces that can be sold now, reservations already taken off.", minimum=0)]


# A struct, as is its price: reads make many.
class Product(Struct, frozen=True):
    """One thing that the shop sells."""

    id: Id
    title: Title
    description: Description
    category: Category
    price: Price
    stock: Stock


@dataclass(frozen=True, slots=True)
class Review:
    """What one customer thinks of one product."""

    id: Id
    product_id: Id
    user_id: Annotated[Id, documented("Who wrote it.")]
    rating: Annotated[int, documented("From 1 (worst) to 5 (best).", minimum=1, maximum=5)]
    title: Annotated[str, documented("Headline.")]
    body: Annotated[str, documented("Plain text.")]


@dataclass(frozen=True, slots=True)
class StockLine:
    """One product and how many pieces of it."""

    product_id: int
    quantity: int


class ReservationState(StrEnum):
    """How far a reservation of stock has come."""

    HELD = "HELD"
    CONFIRMED = "CONFIRMED"
    RELEASED = "RELEASED"


@dataclass(frozen=True, slots=True)
class ReservedLine:
    """One line of a reservation."""

    product_id: Id
    quantity: int
    unit_price: Annotated[Money, documented("Price of one piece when it was reserved.")]


@dataclass(frozen=True, slots=True)
class Reservation:
    """Stock held for one checkout."""

    id: Annotated[str, documented("UUID that the caller chose.")]
    state: ReservationState
    lines: tuple[ReservedLine, ...]


@dataclass(frozen=True, slots=True)
class ProductRow:
    """A product at the size of an order line."""

    product_id: Id
    title: str
    price: Money
    stock: Annotated[int, documented("Pieces that can be sold now.", minimum=0)]


@dataclass(frozen=True, slots=True)
class NewProduct:
    """A product before it has an id."""

    title: str
    description: str
    category: str
    price: Money
    stock: int


@dataclass(frozen=True, slots=True)
class ProductChange:
    """New values of a product's fields; None leaves a field as it is."""

    title: str | None = None
    description: str | None = None
    category: str | None = None
    price: Money | None = None
    stock: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing would change."""
        return self == ProductChange()


def reserve(lines: Sequence[StockLine], products: Mapping[int, Product]) -> tuple[ReservedLine, ...]:
    """Decides whether products have the stock that is asked for: all lines or none.

    Args:
        lines: Lines that are asked for; each product once.
        products: The products that exist, by id.

    Returns:
        The lines with today's prices, by product id.

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
    """Answers a call that asks for a reservation a second time.

    Args:
        reservation: The reservation as it is stored.
        lines: Lines that are asked for now.

    Returns:
        The reservation, held or already confirmed.

    Raises:
        FailedPrecondition: It was released, or it holds other lines.
    """
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
    """Decides whether a reservation still has to be confirmed.

    Returns:
        False if it is confirmed already.

    Raises:
        FailedPrecondition: It was released.
    """
    if reservation.state is ReservationState.RELEASED:
        raise FailedPrecondition(
            f"reservation {reservation.id} was released and cannot be confirmed", field="reservation_id"
        )
    return reservation.state is ReservationState.HELD
