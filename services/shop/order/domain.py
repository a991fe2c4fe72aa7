"""Orders: their rules, without any I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from shop.errors import FailedPrecondition, InvalidArgument
from shop.money import Money
from shop.values.order import STATUS_BEFORE, CheckoutLine, OrderStatus
from shop.values.user import Address


def status_before(status: OrderStatus) -> OrderStatus:
    """Returns the status from which an order moves to this status; raises `InvalidArgument` if none does by hand."""
    before = STATUS_BEFORE.get(status)
    if before is None:
        raise InvalidArgument(f"status must be one of: {', '.join(STATUS_BEFORE)}", field="status")
    return before


def check_address(user_id: int, address: Address) -> None:
    """Checks that goods can be sent to a customer's address; raises `FailedPrecondition` if a part is missing."""
    if not all((address.recipient, address.street, address.city, address.postal_code, address.country_code)):
        raise FailedPrecondition(f"user {user_id} has no complete address; complete it first", field="user_id")


class PricedLine(Struct, frozen=True, gc=False):
    """One line of an order that is about to be stored."""

    line_number: int
    product_id: int
    quantity: int
    unit_price: Money


class Purchase(Struct, frozen=True, gc=False):
    """The lines of a checkout, with the prices at which they were reserved."""

    lines: tuple[PricedLine, ...]
    total: Money


def purchase(lines: Sequence[CheckoutLine], prices: Mapping[int, Money]) -> Purchase:
    """Prices and numbers the lines of a checkout; raises `FailedPrecondition` if the prices have several currencies."""
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
