"""Orders: their types and rules, without any input or output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from shop.errors import FailedPrecondition, InvalidArgument
from shop.fields import Id, Instant, Pieces, documented
from shop.money import Money

Buyer = Annotated[int, documented("Who bought; 0 if the account is gone.", minimum=0)]
FormerBuyer = Annotated[Id, documented("Who bought, whether the account is there or gone.")]
Total = Annotated[Money, documented("Sum over the lines of quantity times unit price.")]
BOUGHT_PRICE = documented("Price of one piece when it was bought.")


class OrderStatus(StrEnum):
    """How far an order has come."""

    PENDING = "PENDING"
    CONFIRMED = "CONFIRMED"
    SHIPPED = "SHIPPED"
    DELIVERED = "DELIVERED"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class CheckoutLine:
    """One product to buy and how many pieces of it."""

    product_id: int
    quantity: int


@dataclass(frozen=True, slots=True)
class OrderLine:
    """One product of an order."""

    id: Id
    line_number: Annotated[int, documented("Place in the order.", minimum=1)]
    product_id: Id
    quantity: Pieces
    unit_price: Annotated[Money, BOUGHT_PRICE]


Lines = Annotated[tuple[OrderLine, ...], documented("By line number.")]


@dataclass(frozen=True, slots=True)
class Order:
    """What one user bought at one time."""

    id: Id
    user_id: Buyer
    status: OrderStatus
    placed_at: Instant
    total: Total
    lines: Lines


@dataclass(frozen=True, slots=True)
class JoinedOrderLine:
    """An order line together with what it needs of its order."""

    id: Id
    order_id: Id
    user_id: FormerBuyer
    status: OrderStatus
    placed_at: Instant
    product_id: Id
    quantity: Pieces
    unit_price: Annotated[Money, BOUGHT_PRICE]


STATUS_BEFORE = {OrderStatus.SHIPPED: OrderStatus.CONFIRMED, OrderStatus.DELIVERED: OrderStatus.SHIPPED}
"""The status that an order must have to get a status by UpdateOrderStatus. Cancelling is a saga of its own."""


def status_before(status: OrderStatus) -> OrderStatus:
    """Returns the status that an order must have to move to another one.

    Raises:
        InvalidArgument: No order is moved to that status by hand.
    """
    before = STATUS_BEFORE.get(status)
    if before is None:
        raise InvalidArgument(f"status must be one of: {', '.join(STATUS_BEFORE)}", field="status")
    return before


def refused_move(order_id: int, current: OrderStatus, wanted: OrderStatus) -> FailedPrecondition:
    """Returns the error that says why an order cannot move to a status."""
    return FailedPrecondition(
        f"order {order_id} is {current}; it must be {status_before(wanted)} to become {wanted}", field="status"
    )


@dataclass(frozen=True, slots=True)
class PricedLine:
    """One line of an order that is about to be stored."""

    line_number: int
    product_id: int
    quantity: int
    unit_price: Money


@dataclass(frozen=True, slots=True)
class Purchase:
    """What a checkout buys, with the prices that were reserved."""

    lines: tuple[PricedLine, ...]
    total: Money


def purchase(lines: Sequence[CheckoutLine], prices: Mapping[int, Money]) -> Purchase:
    """Prices the lines of a checkout.

    Args:
        lines: What the customer asked for; lines are numbered in this order.
        prices: Price of one piece of each product.

    Returns:
        The lines with their prices and their total.

    Raises:
        FailedPrecondition: The products have prices in more than one currency.
    """
    priced = tuple(
        PricedLine(number, line.product_id, line.quantity, prices[line.product_id])
        for number, line in enumerate(lines, start=1)
    )
    currencies = sorted({line.unit_price.currency for line in priced})
    if len(currencies) > 1:
        raise FailedPrecondition(
            f"the products have prices in {' and '.join(currencies)}; order the products of each currency separately",
            field="lines",
        )
    total = sum(line.unit_price.amount_minor * line.quantity for line in priced)
    return Purchase(priced, Money(total, currencies[0]))
