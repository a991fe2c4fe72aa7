"""Bodies of the catalogue."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from shop.platform.rest.fields import NO_NUL, Change, Id, Money, NextPageToken, Price, Received, Sent, absent

CATEGORY = r"^[a-z0-9-]{1,40}$"

Title = Annotated[str, Field(min_length=1, max_length=200, pattern=NO_NUL, description="Name shown to customers.")]
Description = Annotated[str, Field(max_length=4000, pattern=NO_NUL, description="Plain text.")]
Category = Annotated[str, Field(pattern=CATEGORY, description="Category slug.")]
Stock = Annotated[int, Field(ge=0, le=1_000_000_000, description="Pieces that can be sold.")]

_PRODUCT: dict[str, Any] = {
    "id": 17,
    "title": "Product 17",
    "description": "What product 17 is.",
    "category": "c0000",
    "price": {"amount_minor": 1999, "currency": "EUR"},
    "stock": 420,
}
_REVIEW: dict[str, Any] = {
    "id": 49,
    "product_id": 17,
    "user_id": 8,
    "rating": 5,
    "title": "Would buy again",
    "body": "Does what it says.",
}


class Review(Sent):
    """What one customer thinks of one product."""

    model_config = ConfigDict(json_schema_extra={"examples": [_REVIEW]})

    id: Id
    product_id: Id
    user_id: Annotated[Id, Field(description="Who wrote it.")]
    rating: Annotated[int, Field(ge=1, le=5, description="From 1 (worst) to 5 (best).")]
    title: Annotated[str, Field(description="Headline.")]
    body: Annotated[str, Field(description="Plain text.")]


class Product(Sent):
    """One thing that the shop sells."""

    model_config = ConfigDict(json_schema_extra={"examples": [_PRODUCT, {**_PRODUCT, "reviews": [_REVIEW]}]})

    id: Id
    title: Annotated[str, Field(description="Name shown to customers.")]
    description: Annotated[str, Field(description="Plain text.")]
    category: Annotated[str, Field(description="Category slug.")]
    price: Annotated[Money, Field(description="Price of one piece.")]
    stock: Annotated[int, Field(ge=0, description="Pieces that can be sold now, reservations already taken off.")]
    reviews: Annotated[
        list[Review],
        Field(
            default_factory=list,
            description="The first 3 reviews by ascending id; there only with `include=reviews`.",
        ),
    ]


class ProductPage(Sent):
    """A page of products by ascending id, or those asked for by `ids` in that order."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"products": [_PRODUCT], "next_page_token": ""}]})

    products: list[Product]
    next_page_token: NextPageToken


class NewProduct(Received):
    """A product to add to the catalogue."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{name: value for name, value in _PRODUCT.items() if name != "id"}]}
    )

    title: Title
    description: Description
    category: Category
    price: Price
    stock: Stock


class ProductChange(Change):
    """The fields of a product to change; those left out stay as they are."""

    model_config = ConfigDict(
        json_schema_extra={"minProperties": 1, "examples": [{"stock": 500}, {"title": "Product 17, second edition"}]}
    )

    title: Annotated[Title, Field(default_factory=absent)]
    description: Annotated[Description, Field(default_factory=absent)]
    category: Annotated[Category, Field(default_factory=absent)]
    price: Annotated[Price, Field(default_factory=absent)]
    stock: Annotated[Stock, Field(default_factory=absent)]


class ProductReviews(Sent):
    """The first reviews of one product, by ascending id."""

    product_id: Id
    reviews: list[Review]


class ReviewList(Sent):
    """The first reviews of each product asked for, in that order; also of those that have none or do not exist."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"products": [{"product_id": 17, "reviews": [_REVIEW]}]}]}
    )

    products: list[ProductReviews]


_ROW: dict[str, Any] = {name: _PRODUCT[name] for name in ("title", "price", "stock")} | {"product_id": 17}


class ProductRow(Sent):
    """A product at the size of an order line."""

    product_id: Id
    title: str
    price: Money
    stock: Annotated[int, Field(ge=0, description="Pieces that can be sold now.")]


class ProductRowsPage(Sent):
    """A page of product rows, by ascending id."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"rows": [_ROW], "next_page_token": ""}]})

    rows: list[ProductRow]
    next_page_token: NextPageToken


class StockLine(Received):
    """One product to reserve."""

    product_id: Id
    quantity: Annotated[int, Field(ge=1, le=1000, description="Pieces.")]


class NewReservation(Received):
    """What to reserve: all lines or none."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"lines": [{"product_id": 17, "quantity": 2}]}]})

    lines: Annotated[list[StockLine], Field(min_length=1, max_length=100, description="Each product once.")]


_RESERVATION: dict[str, Any] = {
    "id": "8f14e45f-ceea-467f-a8f3-6b0e3b1c1d1e",
    "state": "HELD",
    "lines": [{"product_id": 17, "quantity": 2, "unit_price": {"amount_minor": 1999, "currency": "EUR"}}],
}


class ReservedLine(Sent):
    """One line of a reservation."""

    product_id: Id
    quantity: int
    unit_price: Annotated[Money, Field(description="Price of one piece when it was reserved.")]


class Reservation(Sent):
    """Stock held for one checkout."""

    model_config = ConfigDict(json_schema_extra={"examples": [_RESERVATION]})

    id: Annotated[str, Field(description="UUID that the caller chose.")]
    state: Literal["HELD", "CONFIRMED", "RELEASED"]
    lines: list[ReservedLine]
