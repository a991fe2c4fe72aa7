"""The rules of reservations, and the currencies of prices."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shop.errors import FailedPrecondition, NotFound, OutOfStock
from shop.money import CURRENCIES, Money
from shop.product.domain import must_be_confirmed, reserve, reserved_again
from shop.values.product import Product, Reservation, ReservationState, ReservedLine, StockLine

PRICE = Money(100, "EUR")
HELD = Reservation("r", ReservationState.HELD, (ReservedLine(1, 2, PRICE), ReservedLine(5, 1, PRICE)))


def stocked(**stock: int) -> dict[int, Product]:
    return {int(key[1:]): Product(int(key[1:]), "", "", "", PRICE, pieces) for key, pieces in stock.items()}


def test_reserved_lines_have_todays_price_and_are_in_the_order_of_ids() -> None:
    lines = reserve([StockLine(5, 1), StockLine(1, 2)], stocked(p1=2, p5=9))
    assert lines == HELD.lines


@pytest.mark.parametrize(
    ("lines", "stock", "error", "field"),
    [
        ([StockLine(1, 3)], {"p1": 2}, OutOfStock, "lines[0].quantity"),
        ([StockLine(1, 1), StockLine(5, 1)], {"p1": 1, "p5": 0}, OutOfStock, "lines[1].quantity"),
        ([StockLine(1, 1), StockLine(9, 1)], {"p1": 1}, NotFound, "lines[1].product_id"),
    ],
)
def test_one_short_line_refuses_all(
    lines: list[StockLine], stock: dict[str, int], error: type[Exception], field: str
) -> None:
    with pytest.raises(error) as refusal:
        reserve(lines, stocked(**stock))
    assert getattr(refusal.value, "field", None) == field


@pytest.mark.parametrize("state", [ReservationState.HELD, ReservationState.CONFIRMED])
def test_same_lines_in_any_order_are_the_same_reservation(state: ReservationState) -> None:
    existing = Reservation("r", state, HELD.lines)
    assert reserved_again(existing, [StockLine(5, 1), StockLine(1, 2)]) is existing


def test_other_lines_or_a_release_refuse_the_same_id() -> None:
    for lines in ([StockLine(1, 2)], [StockLine(1, 2), StockLine(5, 2)]):
        with pytest.raises(FailedPrecondition):
            reserved_again(HELD, lines)
    with pytest.raises(FailedPrecondition):
        reserved_again(Reservation("r", ReservationState.RELEASED, HELD.lines), [StockLine(5, 1), StockLine(1, 2)])


def test_confirmation_is_due_once() -> None:
    assert must_be_confirmed(HELD)
    assert not must_be_confirmed(Reservation("r", ReservationState.CONFIRMED, HELD.lines))
    with pytest.raises(FailedPrecondition):
        must_be_confirmed(Reservation("r", ReservationState.RELEASED, HELD.lines))


def test_services_in_go_know_the_same_currencies() -> None:
    source = Path(__file__).parents[2].joinpath("go", "internal", "validate", "validate.go").read_text()
    listed = source.partition("strings.Fields(`")[2].partition("`")[0]
    assert re.findall("[A-Z]+", listed) == sorted(CURRENCIES)
