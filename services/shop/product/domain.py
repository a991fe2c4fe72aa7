"""The catalogue: its types and rules, without any input or output."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from shop.money import Money


@dataclass(frozen=True, slots=True)
class Product:
    """One thing that the shop sells; `stock` counts the pieces that can be sold now."""

    id: int
    title: str
    description: str
    category: str
    price: Money
    stock: int


@dataclass(frozen=True, slots=True)
class Review:
    """What one customer thinks of one product; `rating` is 1 (worst) to 5 (best)."""

    id: int
    product_id: int
    user_id: int
    rating: int
    title: str
    body: str


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
    """One line of a reservation, with the price of one piece when it was reserved."""

    product_id: int
    quantity: int
    unit_price: Money


@dataclass(frozen=True, slots=True)
class Reservation:
    """Stock held for one checkout; `id` is a UUID of the caller's choice."""

    id: str
    state: ReservationState
    lines: tuple[ReservedLine, ...]


@dataclass(frozen=True, slots=True)
class ProductRow:
    """A product at the size of an order line."""

    product_id: int
    title: str
    price: Money
    stock: int
