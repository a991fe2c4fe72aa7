"""The rules of orders."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shop.errors import FailedPrecondition, InvalidArgument
from shop.money import Money
from shop.order.domain import purchase, status_before
from shop.values.order import CheckoutLine, OrderStatus, refused_move


def test_statuses_that_are_set_by_hand() -> None:
    assert status_before(OrderStatus.SHIPPED) is OrderStatus.CONFIRMED
    assert status_before(OrderStatus.DELIVERED) is OrderStatus.SHIPPED
    for status in set(OrderStatus) - {OrderStatus.SHIPPED, OrderStatus.DELIVERED}:
        with pytest.raises(InvalidArgument, match="SHIPPED, DELIVERED"):
            status_before(status)


def test_a_refused_move_says_what_the_order_must_be() -> None:
    refusal = refused_move(7, OrderStatus.CONFIRMED, OrderStatus.DELIVERED)
    assert refusal.message == "order 7 is CONFIRMED; it must be SHIPPED to become DELIVERED"


@given(
    st.dictionaries(st.integers(1, 10**6), st.tuples(st.integers(1, 1_000), st.integers(1, 10**9)), min_size=1).map(
        lambda bought: list(bought.items())
    )
)
def test_a_purchase_adds_up(bought: list[tuple[int, tuple[int, int]]]) -> None:
    lines = [CheckoutLine(product, quantity) for product, (quantity, _) in bought]
    made = purchase(lines, {product: Money(price, "EUR") for product, (_, price) in bought})
    assert made.total == Money(sum(quantity * price for _, (quantity, price) in bought), "EUR")
    assert [line.line_number for line in made.lines] == list(range(1, len(bought) + 1))
    assert [(line.product_id, line.quantity) for line in made.lines] == [
        (line.product_id, line.quantity) for line in lines
    ]


def test_one_order_has_one_currency() -> None:
    lines = [CheckoutLine(1, 1), CheckoutLine(2, 1)]
    with pytest.raises(FailedPrecondition, match="CHF and EUR") as refusal:
        purchase(lines, {1: Money(5, "EUR"), 2: Money(5, "CHF")})
    assert refusal.value.field == "lines"
