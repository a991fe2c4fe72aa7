"""The rules of orders, and the currencies of prices."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from shop.money import CURRENCIES, Money
from shop.order.domain import purchase
from shop.values.order import CheckoutLine, OrderStatus, refused_move


def test_a_refused_move_names_the_required_status() -> None:
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


def test_services_in_go_know_the_same_currencies() -> None:
    source = Path(__file__).parents[2].joinpath("go", "internal", "validate", "validate.go").read_text()
    listed = source.partition("strings.Fields(`")[2].partition("`")[0]
    assert re.findall("[A-Z]+", listed) == sorted(CURRENCIES)
