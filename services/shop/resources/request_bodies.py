"""Request bodies, with their limits, for FastAPI's validation and documentation.

Nothing is converted, and no unknown field is accepted.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from shop.fields import MAX_ID
from shop.resources.examples import ADDRESS, EUR_20, EUR_40, EVENT, PRODUCT, Example
from shop.values.product import MAX_PRICE_MINOR

NO_NUL = r"^[^\x00]*$"
"""PostgreSQL cannot store the character U+0000 in text."""
CATEGORY = r"^[a-z0-9-]{1,40}$"

Id = Annotated[int, Field(ge=1, le=MAX_ID)]
Pieces = Annotated[int, Field(ge=1, le=1000, description="Pieces.")]
Title = Annotated[str, Field(min_length=1, max_length=200, pattern=NO_NUL, description="Name shown to customers.")]
Description = Annotated[str, Field(max_length=4000, pattern=NO_NUL, description="Plain text.")]
Category = Annotated[str, Field(pattern=CATEGORY, description="Category slug.")]
Stock = Annotated[int, Field(ge=0, le=1_000_000_000, description="Pieces that can be sold.")]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$", description="ISO 4217 code.")]
Email = Annotated[
    str,
    Field(
        min_length=3,
        max_length=254,
        pattern=r"^[^@\s\x00]+@[^@\s\x00]+$",
        description="E-mail address, unique among the users.",
    ),
]
Name = Annotated[str, Field(min_length=1, max_length=100, pattern=NO_NUL, description="Name of the user.")]
Password = Annotated[
    str, Field(min_length=8, max_length=128, pattern=NO_NUL, description="Only its argon2id hash is stored.")
]

_AMOUNT = "Amount in the currency's minor unit: 1999 is 19.99 EUR."


def _body(*examples: Example, **keywords: Any) -> ConfigDict:
    """Returns how a body is checked, and what the body's schema has in addition to fields."""
    if examples:
        keywords["examples"] = list(examples)
    return ConfigDict(extra="forbid", strict=True, frozen=True, json_schema_extra=keywords)


def absent() -> Any:
    """Returns the value of a field that a change does not name; `model_fields_set` says which fields are present."""
    return None


class Change(BaseModel):
    """A body that changes the fields it names: at least one, and none to null."""

    @model_validator(mode="after")
    def _names_a_field(self) -> Change:
        if not self.model_fields_set:
            raise ValueError(f"nothing to change; give at least one of {', '.join(type(self).model_fields)}")
        return self


class Money(BaseModel):
    """An amount of money, exact by construction."""

    model_config = _body(EUR_20)

    amount_minor: Annotated[int, Field(description=_AMOUNT)]
    currency: Currency


class Price(BaseModel):
    """What one piece costs."""

    model_config = _body(EUR_20)

    amount_minor: Annotated[int, Field(ge=1, le=MAX_PRICE_MINOR, description=_AMOUNT)]
    currency: Currency


class Address(BaseModel):
    """A postal address."""

    model_config = _body(ADDRESS)

    recipient: Annotated[str, Field(min_length=1, max_length=100, pattern=NO_NUL, description="Who receives parcels.")]
    street: Annotated[str, Field(min_length=1, max_length=200, pattern=NO_NUL, description="Street and number.")]
    city: Annotated[str, Field(min_length=1, max_length=100, pattern=NO_NUL, description="City or town.")]
    postal_code: Annotated[
        str, Field(min_length=1, max_length=20, pattern=NO_NUL, description="As written in its country.")
    ]
    country_code: Annotated[str, Field(pattern=r"^[A-Z]{2}$", description="ISO 3166-1 alpha-2 code.")]


class NewProduct(BaseModel):
    """A product to add to the catalogue."""

    model_config = _body({name: value for name, value in PRODUCT.items() if name != "id"})

    title: Title
    description: Description
    category: Category
    price: Price
    stock: Stock


class ProductChange(Change):
    """The fields of a product to change; those left out stay as they are."""

    model_config = _body({"stock": 500}, {"title": "Product 17, second edition"}, minProperties=1)

    title: Annotated[Title, Field(default_factory=absent)]
    description: Annotated[Description, Field(default_factory=absent)]
    category: Annotated[Category, Field(default_factory=absent)]
    price: Annotated[Price, Field(default_factory=absent)]
    stock: Annotated[Stock, Field(default_factory=absent)]


class StockLine(BaseModel):
    """One product to reserve."""

    model_config = _body()

    product_id: Id
    quantity: Pieces


class NewReservation(BaseModel):
    """What to reserve: all lines or none."""

    model_config = _body({"lines": [{"product_id": 17, "quantity": 2}]})

    lines: Annotated[list[StockLine], Field(min_length=1, max_length=100, description="Each product once.")]


class NewUser(BaseModel):
    """A user to add."""

    model_config = _body(
        {"email": "ada@example.com", "name": "Ada Example", "address": ADDRESS, "password": "correct horse battery"}
    )

    email: Email
    name: Name
    address: Address
    password: Password


class UserChange(Change):
    """The fields of a user to change; those left out stay as they are. An address is replaced as a whole."""

    model_config = _body({"address": ADDRESS}, minProperties=1)

    name: Annotated[Name, Field(default_factory=absent)]
    address: Annotated[Address, Field(default_factory=absent)]


class Credentials(BaseModel):
    """Who logs in."""

    model_config = _body({"email": "user17@example.com", "password": "hopwise-demo"})

    email: Email
    password: Password


class NewOrderLine(BaseModel):
    """One product to buy."""

    model_config = _body()

    product_id: Id
    quantity: Pieces


class NewOrder(BaseModel):
    """What to buy, and for whom."""

    model_config = _body({"user_id": 17, "lines": [{"product_id": 17, "quantity": 2}], "payment_token": "tok_ok"})

    user_id: Annotated[Id, Field(description="Who buys: the customer of the token, or anybody for a partner.")]
    lines: Annotated[
        list[NewOrderLine], Field(min_length=1, max_length=100, description="A product may stand in one line only.")
    ]
    payment_token: Annotated[
        str,
        Field(
            pattern=r"^[!-~]{1,64}$",
            description="Stands for the customer's card at the bank: `tok_ok`, `tok_declined` or "
            "`tok_insufficient_funds` at the simulated one.",
        ),
    ]


class OrderChange(BaseModel):
    """The next step of an order: CONFIRMED, SHIPPED, DELIVERED."""

    model_config = _body({"status": "SHIPPED"})

    status: Literal["SHIPPED", "DELIVERED"]


class Authorization(BaseModel):
    """What to set aside, and by which card."""

    model_config = _body({"user_id": 17, "amount": EUR_40, "payment_token": "tok_ok"})

    user_id: Annotated[Id, Field(description="Who pays.")]
    amount: Money
    payment_token: Annotated[str, Field(description="Stands for the customer's card at the bank.")]


class Capture(BaseModel):
    """The order that the payment is for."""

    model_config = _body({"order_id": 4711})

    order_id: Id


class ReadUpTo(BaseModel):
    """What a customer has read."""

    model_config = _body({"up_to_position": 17})

    up_to_position: Annotated[Id, Field(description="Position of the newest notification that is read.")]


class NewEvent(BaseModel):
    """A change of an order's status."""

    model_config = _body()

    id: Annotated[Id, Field(description="Number of the event, ascending within an order.")]
    order_id: Id
    user_id: Annotated[Id, Field(description="Who bought.")]
    status: Literal["PENDING", "CONFIRMED", "SHIPPED", "DELIVERED", "CANCELLED"]
    happened_at: Annotated[AwareDatetime, Field(strict=False, description="RFC 3339, in microseconds.")]
    traceparent: Annotated[str, Field(max_length=55, description="Context of the event's trace (W3C); empty for none.")]


class NewEvents(BaseModel):
    """What happened to orders."""

    model_config = _body({"events": [EVENT]})

    events: Annotated[list[NewEvent], Field(min_length=1, max_length=100)]
