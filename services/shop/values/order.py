"""Orders, as services and clients exchange them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Struct

from shop.errors import FailedPrecondition
from shop.fields import Id, Instant, Pieces, describe
from shop.money import Money

Buyer = Annotated[int, describe("Who bought; 0 if the account is gone.", minimum=0)]
FormerBuyer = Annotated[Id, describe("Who bought, whether the account is there or gone.")]
Total = Annotated[Money, describe("Sum over the lines of quantity times unit price.")]
MAX_LINES = 100
"""Maximum number of lines of one order."""
BOUGHT_PRICE = describe("Price of one piece when it was bought.")


class OrderStatus(StrEnum):
    """How far an order has come."""

    PENDING = "PENDING"
    CONFIRMED = "CONFIRMED"
    SHIPPED = "SHIPPED"
    DELIVERED = "DELIVERED"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"


STATUS_BEFORE = {OrderStatus.SHIPPED: OrderStatus.CONFIRMED, OrderStatus.DELIVERED: OrderStatus.SHIPPED}
"""For each status that UpdateOrderStatus can set, the status that an order must have before. Cancelling is a saga."""


def refused_move(order_id: int, current: OrderStatus, wanted: OrderStatus) -> FailedPrecondition:
    """Returns the error that says why an order cannot move to a status of `STATUS_BEFORE`."""
    return FailedPrecondition(
        f"order {order_id} is {current}; it must be {STATUS_BEFORE[wanted]} to become {wanted}", field="status"
    )


class CheckoutLine(Struct, frozen=True, gc=False):
    """One product to buy and how many pieces of it."""

    product_id: int
    quantity: int


class OrderLine(Struct, frozen=True, gc=False):
    """One product of an order."""

    id: Id
    line_number: Annotated[int, describe("Place in the order.", minimum=1)]
    product_id: Id
    quantity: Pieces
    unit_price: Annotated[Money, BOUGHT_PRICE]


Lines = Annotated[tuple[OrderLine, ...], describe("By line number.")]


class Order(Struct, frozen=True, gc=False):
    """What one user bought at one time."""

    id: Id
    user_id: Buyer
    status: OrderStatus
    placed_at: Instant
    total: Total
    lines: Lines


class JoinedOrderLine(Struct, frozen=True, gc=False):
    """An order line together with what it needs of its order."""

    id: Id
    order_id: Id
    user_id: FormerBuyer
    status: OrderStatus
    placed_at: Instant
    product_id: Id
    quantity: Pieces
    unit_price: Annotated[Money, BOUGHT_PRICE]
