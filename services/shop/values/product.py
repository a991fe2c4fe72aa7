"""The catalogue, as services and clients exchange it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypedDict

from msgspec import Struct

from shop.fields import Id, Instant, describe
from shop.money import Money

MAX_PRICE_MINOR = 10**12
"""Maximum price of one piece: the largest checkout at such prices still has a total that fits 64 bits."""
MAX_REVIEWS = 20
"""Maximum number of reviews of a product in one answer."""
MAX_SECTIONS, MAX_RECORDS = 260, 25
"""Maximum number of sections of a technical document, and of records in a section."""
Title = Annotated[str, describe("Name shown to customers.")]
Description = Annotated[str, describe("Plain text.")]
Category = Annotated[str, describe("Category slug.")]
Price = Annotated[Money, describe("Price of one piece.")]
Stock = Annotated[int, describe("Pieces that can be sold now, reservations already taken off.", minimum=0)]


class Product(Struct, frozen=True, gc=False):
    """One thing that the shop sells."""

    id: Id
    title: Title
    description: Description
    category: Category
    price: Price
    stock: Stock


class ProductFields(TypedDict, total=False):
    """What may change of a product; a field that is None or left out stays as it is."""

    title: str | None
    description: str | None
    category: str | None
    price: Money | None
    stock: int | None


class Review(Struct, frozen=True, gc=False):
    """What one customer thinks of one product."""

    id: Id
    product_id: Id
    user_id: Annotated[Id, describe("Who wrote it.")]
    rating: Annotated[int, describe("From 1 (worst) to 5 (best).", minimum=1, maximum=5)]
    title: Annotated[str, describe("Headline.")]
    body: Annotated[str, describe("Plain text.")]


class ReviewedProduct(Product, frozen=True, gc=False):
    """A product with its first reviews."""

    reviews: Annotated[tuple[Review, ...], describe("By ascending id.")]


class ProductReviews(Struct, frozen=True, gc=False):
    """The first reviews of one product, by ascending id."""

    product_id: Id
    reviews: tuple[Review, ...]


class StockLine(Struct, frozen=True, gc=False):
    """One product and how many pieces of it."""

    product_id: int
    quantity: int


class ReservationState(StrEnum):
    """How far a reservation of stock has come."""

    HELD = "HELD"
    CONFIRMED = "CONFIRMED"
    RELEASED = "RELEASED"


class ReservedLine(Struct, frozen=True, gc=False):
    """One line of a reservation."""

    product_id: Id
    quantity: int
    unit_price: Annotated[Money, describe("Price of one piece when it was reserved.")]


class Reservation(Struct, frozen=True, gc=False):
    """Stock held for one checkout."""

    id: Annotated[str, describe("UUID that the caller chose.")]
    state: ReservationState
    lines: tuple[ReservedLine, ...]


class ProductRow(Struct, frozen=True, gc=False):
    """A product at the size of an order line."""

    product_id: Id
    title: str
    price: Money
    stock: Annotated[int, describe("Pieces that can be sold now.", minimum=0)]


# Absent values are left out in JSON.
class DocumentRecord(Struct, frozen=True, gc=False, omit_defaults=True):
    """One test of a technical document."""

    text: Annotated[str, describe("Plain text.")]
    count: Annotated[int, describe("Pieces that were tested.", minimum=1)]
    value: Annotated[float, describe("What was measured, in the unit of its section.")]
    ok: Annotated[bool, describe("Whether the value is within its limits.")]
    at: Annotated[Instant | None, describe("When it was measured; absent if that is not known.")] = None
    price: Annotated[Money | None, describe("What the test cost; absent if that is not known.")] = None


class DocumentSection(Struct, frozen=True, gc=False):
    """The records of a technical document below one heading."""

    title: Annotated[str, describe("The heading.")]
    records: tuple[DocumentRecord, ...]


class Document(Struct, frozen=True, gc=False):
    """A technical document of the catalogue: the records of tests, in sections."""

    id: Id
    sections: tuple[DocumentSection, ...]
