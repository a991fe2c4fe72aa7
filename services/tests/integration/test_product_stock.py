"""Reservations of stock: all or nothing, once, and never more than there is."""

from __future__ import annotations

import asyncio
import contextlib
import random
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest

from conforming import words
from shop.contract.ports import ProductClient
from shop.errors import FailedPrecondition, InvalidArgument, NotFound, OutOfStock, PreconditionFailed
from shop.money import Money
from shop.product.service import MAX_STOCK
from shop.values.product import Product, ReservationState, ReservedLine, StockLine

Make = Callable[..., Awaitable[Product]]
NOWHERE = 2**62


def new_id() -> str:
    return str(uuid.uuid4())


def sold(admin: psycopg.Connection, product: Product) -> int:
    row = admin.execute("SELECT sold FROM shop_product.product WHERE id = %s", [product.id]).fetchone()
    return int(row[0])


async def test_reservation_takes_stock_at_todays_price(product: ProductClient, make_product: Make) -> None:
    tea, pot = await make_product(stock=5, price=300), await make_product(stock=2, price=1999)
    key = new_id()
    held = await product.reserve_stock(key, [StockLine(pot.id, 2), StockLine(tea.id, 3)])
    assert held.id == key
    assert held.state is ReservationState.HELD
    assert held.lines == (ReservedLine(tea.id, 3, Money(300, "EUR")), ReservedLine(pot.id, 2, Money(1999, "EUR")))
    assert [item.stock for item in await product.batch_get_products([tea.id, pot.id])] == [2, 0]


async def test_life_of_a_reservation(product: ProductClient, make_product: Make, admin: psycopg.Connection) -> None:
    tea, key = await make_product(stock=5), new_id()
    await product.reserve_stock(key, [StockLine(tea.id, 3)])
    assert sold(admin, tea) == 0
    confirmed = await product.confirm_reservation(key)
    assert confirmed.state is ReservationState.CONFIRMED
    assert sold(admin, tea) == 3
    released = await product.release_reservation(key)
    assert released.state is ReservationState.RELEASED
    assert released.lines == confirmed.lines
    assert sold(admin, tea) == 0
    assert (await product.get_product(tea.id)).stock == 5


async def test_every_step_is_idempotent(product: ProductClient, make_product: Make, admin: psycopg.Connection) -> None:
    tea, pot, key = await make_product(stock=5), await make_product(stock=1), new_id()
    lines = [StockLine(tea.id, 3), StockLine(pot.id, 1)]
    assert await product.reserve_stock(key, lines) == await product.reserve_stock(key, lines[::-1])
    assert (await product.get_product(tea.id)).stock == 2
    assert await product.confirm_reservation(key) == await product.confirm_reservation(key)
    assert sold(admin, tea) == 3
    again = await product.reserve_stock(key.upper(), lines)
    assert again.state is ReservationState.CONFIRMED
    assert await product.release_reservation(key) == await product.release_reservation(key)
    assert (await product.get_product(tea.id)).stock == 5
    assert sold(admin, tea) == 0


async def test_all_lines_or_none(product: ProductClient, make_product: Make) -> None:
    tea, pot, key = await make_product(stock=5), await make_product(stock=1), new_id()
    with pytest.raises(OutOfStock) as refusal:
        await product.reserve_stock(key, [StockLine(tea.id, 1), StockLine(pot.id, 2)])
    assert refusal.value.field == "lines[1].quantity"
    with pytest.raises(NotFound) as unknown:
        await product.reserve_stock(key, [StockLine(tea.id, 1), StockLine(NOWHERE, 1)])
    assert unknown.value.field == "lines[1].product_id"
    assert [item.stock for item in await product.batch_get_products([tea.id, pot.id])] == [5, 1]
    # The failed calls did not use up the reservation's id.
    await product.reserve_stock(key, [StockLine(tea.id, 1)])


async def test_same_id_with_other_lines_is_refused(product: ProductClient, make_product: Make) -> None:
    tea, key = await make_product(stock=5), new_id()
    await product.reserve_stock(key, [StockLine(tea.id, 1)])
    with pytest.raises(FailedPrecondition) as refusal:
        await product.reserve_stock(key, [StockLine(tea.id, 2)])
    assert refusal.value.field == "reservation_id"
    assert (await product.get_product(tea.id)).stock == 4


@pytest.mark.parametrize("reserved", [False, True], ids=["without a reservation", "after a reservation"])
async def test_after_a_release_nothing_is_reserved_or_confirmed(
    product: ProductClient, make_product: Make, reserved: bool
) -> None:
    tea, key = await make_product(stock=5), new_id()
    lines = [StockLine(tea.id, 1)]
    if reserved:
        await product.reserve_stock(key, lines)
    released = await product.release_reservation(key)
    assert released.state is ReservationState.RELEASED
    assert reserved or released.lines == ()
    for call in (product.reserve_stock(key, lines), product.confirm_reservation(key)):
        with pytest.raises(FailedPrecondition):
            await call
    assert (await product.get_product(tea.id)).stock == 5


async def test_unknown_reservation_is_not_confirmed(product: ProductClient) -> None:
    with pytest.raises(NotFound):
        await product.confirm_reservation(new_id())


async def test_sold_product_may_be_deleted_and_its_order_cancelled(product: ProductClient, make_product: Make) -> None:
    tea, key = await make_product(stock=5), new_id()
    await product.reserve_stock(key, [StockLine(tea.id, 1)])
    await product.confirm_reservation(key)
    await product.delete_product(tea.id)
    assert (await product.release_reservation(key)).state is ReservationState.RELEASED


async def test_last_pieces_go_to_exactly_as_many_of_100_rivals(product: ProductClient, make_product: Make) -> None:
    tea = await make_product(stock=10)
    results = await asyncio.gather(
        *(product.reserve_stock(new_id(), [StockLine(tea.id, 1)]) for _ in range(100)), return_exceptions=True
    )
    assert sum(isinstance(result, OutOfStock) for result in results) == 90
    assert sum(not isinstance(result, BaseException) for result in results) == 10
    assert (await product.get_product(tea.id)).stock == 0


async def test_rivals_with_the_same_id_reserve_once(product: ProductClient, make_product: Make) -> None:
    tea, key = await make_product(stock=10), new_id()
    results = await asyncio.gather(*(product.reserve_stock(key, [StockLine(tea.id, 2)]) for _ in range(30)))
    assert len(set(results)) == 1
    assert (await product.get_product(tea.id)).stock == 8


async def test_rivals_over_the_same_products_in_any_order_never_wait_for_each_other(
    product: ProductClient, make_product: Make, admin: psycopg.Connection
) -> None:
    """Reserves, confirms, releases and deletes concurrently; no piece is created or lost, and no call is refused."""
    products = [await make_product(stock=1000) for _ in range(6)]
    dice = random.Random(7)

    async def buy() -> int:
        key, chosen = new_id(), dice.sample(products, 4)
        reserve = [product.reserve_stock(key, [StockLine(item.id, 1) for item in chosen]) for _ in range(2)]
        await asyncio.gather(*reserve)
        steps = [product.confirm_reservation(key), product.confirm_reservation(key)]
        await asyncio.gather(*steps)
        if dice.random() < 0.5:
            await asyncio.gather(product.release_reservation(key), product.release_reservation(key))
            return 0
        return 4

    bought = sum(await asyncio.gather(*(buy() for _ in range(60))))
    now = await product.batch_get_products([item.id for item in products])
    assert sum(item.stock for item in now) == 6000 - bought
    assert sum(sold(admin, item) for item in products) == bought


async def test_pieces_that_are_put_in_while_customers_buy_are_sold_once(
    product: ProductClient, make_product: Make, admin: psycopg.Connection
) -> None:
    tea = await make_product(stock=20)

    async def restock(pieces: int) -> None:
        while True:
            read = await product.get_product(tea.id)
            with contextlib.suppress(PreconditionFailed):
                await product.update_product(tea.id, stock=read.stock + pieces, expected=read)
                return

    async def buy() -> bool:
        key = new_id()
        try:
            await product.reserve_stock(key, [StockLine(tea.id, 1)])
        except OutOfStock:
            return False
        await product.confirm_reservation(key)
        return True

    bought, *_ = await asyncio.gather(asyncio.gather(*(buy() for _ in range(60))), *(restock(5) for _ in range(8)))
    left = (await product.get_product(tea.id)).stock
    assert sum(bought) + left == 20 + 8 * 5
    row = admin.execute("SELECT sold, stocked FROM shop_product.product WHERE id = %s", [tea.id]).fetchone()
    assert row == (sum(bought), 60)


async def test_confirm_and_release_at_once_leave_one_outcome(
    product: ProductClient, make_product: Make, admin: psycopg.Connection
) -> None:
    tea = await make_product(stock=100)

    async def race() -> None:
        key = new_id()
        await product.reserve_stock(key, [StockLine(tea.id, 1)])
        await asyncio.gather(product.confirm_reservation(key), product.release_reservation(key), return_exceptions=True)

    await asyncio.gather(*(race() for _ in range(30)))
    # A release always wins in the end: it reverts an earlier confirmation, and prevents a later one.
    assert (await product.get_product(tea.id)).stock == 100
    assert sold(admin, tea) == 0


BAD: list[tuple[str, Callable[[ProductClient], Awaitable[Any]]]] = [
    ("reservation_id", lambda p: p.reserve_stock("not-a-uuid", [StockLine(1, 1)])),
    ("reservation_id", lambda p: p.reserve_stock("", [StockLine(1, 1)])),
    ("reservation_id", lambda p: p.confirm_reservation("x" * 36)),
    ("reservation_id", lambda p: p.release_reservation("{" + new_id() + "}")),
    ("lines", lambda p: p.reserve_stock(new_id(), [])),
    ("lines", lambda p: p.reserve_stock(new_id(), [StockLine(index, 1) for index in range(1, 102)])),
    ("lines[0].product_id", lambda p: p.reserve_stock(new_id(), [StockLine(0, 1)])),
    ("lines[1].quantity", lambda p: p.reserve_stock(new_id(), [StockLine(1, 1), StockLine(2, 0)])),
    ("lines[0].quantity", lambda p: p.reserve_stock(new_id(), [StockLine(1, 1001)])),
    ("lines[0].quantity", lambda p: p.reserve_stock(new_id(), [StockLine(1, 2**31)])),
    ("lines[1].product_id", lambda p: p.reserve_stock(new_id(), [StockLine(1, 1), StockLine(1, 2)])),
]


@pytest.mark.parametrize(("field", "call"), BAD, ids=[f"{index}-{field}" for index, (field, _) in enumerate(BAD)])
async def test_argument_out_of_range_is_named(
    product: ProductClient, field: str, call: Callable[[ProductClient], Awaitable[Any]]
) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        await call(product)
    assert refusal.value.field == field
    assert field in refusal.value.message


async def test_stock_is_bounded_so_that_reserved_pieces_can_be_returned(
    product: ProductClient, make_product: Make
) -> None:
    for stock in (MAX_STOCK + 1, 2**63 - 1):
        with pytest.raises(
            InvalidArgument, match=words(f"to {MAX_STOCK}|less than or equal to {MAX_STOCK}")
        ) as refusal:
            await make_product(stock=stock)
        assert refusal.value.field.endswith("stock")
    made = await make_product(stock=5)
    with pytest.raises(InvalidArgument):
        await product.update_product(made.id, stock=2**63 - 1)
    key = new_id()
    await product.reserve_stock(key, [StockLine(made.id, 5)])
    await product.confirm_reservation(key)
    # The maximum stock is set while pieces are reserved: returning them exceeds the maximum, but succeeds.
    left = await product.get_product(made.id)
    await product.update_product(made.id, stock=MAX_STOCK, expected=left)
    await product.release_reservation(key)
    assert (await product.get_product(made.id)).stock == MAX_STOCK + 5


def test_the_database_leaves_room_too(admin: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.CheckViolation, match="product_stock_room"):
        admin.execute(
            "INSERT INTO shop_product.product (title, description, category, price_minor, currency, stock) "
            "VALUES ('T', '', 'c', 1, 'EUR', 9223372036854775807)"
        )
