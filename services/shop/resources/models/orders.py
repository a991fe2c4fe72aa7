"""Bodies of orders, their lines and payments."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from shop.platform.rest.fields import Id, Instant, Money, NextPageToken, Received, Sent, absent
from shop.resources.models.products import Product
from shop.resources.models.users import User

OrderStatus = Literal["PENDING", "CONFIRMED", "SHIPPED", "DELIVERED", "CANCELLED", "FAILED"]
PaymentStatus = Literal["AUTHORIZED", "CAPTURED", "VOIDED", "DECLINED"]

_EUR_20: dict[str, Any] = {"amount_minor": 1999, "currency": "EUR"}
PAYMENT: dict[str, Any] = {
    "id": 4711,
    "order_id": 4711,
    "status": "CAPTURED",
    "amount": {"amount_minor": 3998, "currency": "EUR"},
}
_ORDER: dict[str, Any] = {
    "id": 4711,
    "user_id": 17,
    "status": "CONFIRMED",
    "placed_at": "2025-03-04T05:06:07Z",
    "total": {"amount_minor": 3998, "currency": "EUR"},
    "lines": [{"id": 14001, "line_number": 1, "product_id": 17, "quantity": 2, "unit_price": _EUR_20}],
}
_JOINED: dict[str, Any] = {
    "id": 14001,
    "order_id": 4711,
    "user_id": 17,
    "status": "CONFIRMED",
    "placed_at": "2025-03-04T05:06:07Z",
    "product_id": 17,
    "quantity": 2,
    "unit_price": _EUR_20,
}


class Payment(Sent):
    """The payment of one order."""

    model_config = ConfigDict(json_schema_extra={"examples": [PAYMENT]})

    id: Id
    order_id: Annotated[int, Field(ge=0, description="The order it belongs to; 0 until it is captured.")]
    status: PaymentStatus
    amount: Money


class PaymentList(Sent):
    """The payments found, in the order of the orders asked for; orders without one are left out."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"payments": [PAYMENT]}]})

    payments: list[Payment]


class OrderLine(Sent):
    """One product of an order."""

    id: Id
    line_number: Annotated[int, Field(ge=1, description="Place in the order.")]
    product_id: Id
    quantity: Annotated[int, Field(ge=1, description="Pieces.")]
    unit_price: Annotated[Money, Field(description="Price of one piece when it was bought.")]


class Order(Sent):
    """What one user bought at one time."""

    model_config = ConfigDict(json_schema_extra={"examples": [_ORDER, {**_ORDER, "payment": PAYMENT}]})

    id: Id
    user_id: Annotated[int, Field(ge=0, description="Who bought; 0 if the account is gone.")]
    status: OrderStatus
    placed_at: Instant
    total: Annotated[Money, Field(description="Sum over the lines of quantity times unit price.")]
    lines: Annotated[list[OrderLine], Field(description="By line number.")]
    payment: Annotated[
        Payment,
        Field(default_factory=absent, description="There only with `include=payment`, and if the order has one."),
    ]
    user: Annotated[User, Field(default_factory=absent, description="There only with `include=user`.")]
    products: Annotated[
        list[Product],
        Field(
            default_factory=list,
            description="The products of the lines, each once, by line number; there only with `include=products`.",
        ),
    ]


class OrderPage(Sent):
    """A page of orders, newest first."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"orders": [_ORDER], "next_page_token": ""}]})

    orders: list[Order]
    next_page_token: NextPageToken


class OrderList(Sent):
    """The orders found, in the order of the ids asked for; unknown ones are left out."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"orders": [_ORDER]}]})

    orders: list[Order]


class JoinedOrderLine(Sent):
    """An order line together with what it needs of its order."""

    model_config = ConfigDict(json_schema_extra={"examples": [_JOINED]})

    id: Id
    order_id: Id
    user_id: Annotated[Id, Field(description="Who bought, whether the account is there or gone.")]
    status: OrderStatus
    placed_at: Instant
    product_id: Id
    quantity: Annotated[int, Field(ge=1, description="Pieces.")]
    unit_price: Annotated[Money, Field(description="Price of one piece when it was bought.")]


class OrderLinesPage(Sent):
    """A page of order lines of all orders, by ascending id."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"lines": [_JOINED], "next_page_token": ""}]})

    lines: list[JoinedOrderLine]
    next_page_token: Annotated[
        str,
        Field(
            description="Give it as `page_token` to read the next page; empty when this page was not full, "
            "so that the last page may be an empty one."
        ),
    ]


class NewOrderLine(Received):
    """One product to buy."""

    product_id: Id
    quantity: Annotated[int, Field(ge=1, le=1000, description="Pieces.")]


class NewOrder(Received):
    """What to buy, and for whom."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"user_id": 17, "lines": [{"product_id": 17, "quantity": 2}], "payment_token": "tok_ok"},
            ]
        }
    )

    user_id: Annotated[Id, Field(description="Who buys: the customer of the token, or anybody for a partner.")]
    lines: Annotated[
        list[NewOrderLine],
        Field(min_length=1, max_length=100, description="A product may stand in one line only."),
    ]
    payment_token: Annotated[
        str,
        Field(
            pattern=r"^[!-~]{1,64}$",
            description="Stands for the customer's card at the bank: `tok_ok`, `tok_declined` or "
            "`tok_insufficient_funds` at the simulated one.",
        ),
    ]


class OrderChange(Received):
    """The next step of an order: CONFIRMED, SHIPPED, DELIVERED."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "SHIPPED"}]})

    status: Literal["SHIPPED", "DELIVERED"]
