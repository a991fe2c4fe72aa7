"""Stores in memory keep the promises of the stores in the database: all or nothing, each once, and none below zero."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import cast

import pytest
from msgspec.structs import replace

from memory_stores.order import MemoryCancellations, MemoryCheckouts, MemoryOrders
from memory_stores.payment import MemoryPayments
from memory_stores.product import MemoryProductStore, MemoryStockTransaction
from memory_stores.user import MemoryUserStore
from shop.errors import ErrorCode, InvalidArgument, NotFound, OutOfStock
from shop.money import Money
from shop.order.checkout_states import Checkout, Refusal, SagaState, Step
from shop.order.domain import PricedLine, Purchase
from shop.order.ports import TakenOver
from shop.order.sagas.retries import LEASE_S
from shop.product.service import ProductService
from shop.values.order import OrderStatus
from shop.values.product import Product, ReservationState, ReservedLine, Review, StockLine
from shop.values.user import Address, User

EUR = Money(100, "EUR")
PIECES = 20
ADA = User(1, "ada@example.com", "Ada", Address("Ada", "Street 1", "Berlin", "10115", "DE"))
BOUGHT = Purchase((PricedLine(1, 7, 2, EUR), PricedLine(2, 8, 1, EUR)), Money(300, "EUR"))
SHORT = Refusal(ErrorCode.OUT_OF_STOCK, "too few")
AWAY = Refusal(ErrorCode.UNAVAILABLE, "away")


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


async def stock(store: MemoryProductStore) -> list[int]:
    return [product.stock for product in await store.page(after=0, limit=100, category="")]


class PausingTransaction:
    """Lets other calls run before every step, like a database."""

    def __init__(self, stock: MemoryStockTransaction) -> None:
        self._stock = stock

    def __getattr__(self, name: str) -> Callable[..., Awaitable[object]]:
        async def call_later(*args: object) -> object:
            await asyncio.sleep(0)
            return await getattr(self._stock, name)(*args)

        return call_later


class PausingStore(MemoryProductStore):
    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[MemoryStockTransaction]:
        async with super().transaction() as stock:
            yield cast(MemoryStockTransaction, PausingTransaction(stock))


async def test_stock_is_conserved_by_calls_side_by_side() -> None:
    draw = random.Random(7)
    store = PausingStore(Product(number, "Tea", "", "tea", EUR, PIECES) for number in (1, 2, 3))
    service = ProductService(store)
    keys = [str(uuid.UUID(int=draw.getrandbits(128))) for _ in range(40)]
    refused = 0

    async def reserve(key: str) -> None:
        nonlocal refused
        lines = [StockLine(number, draw.randint(1, 4)) for number in draw.sample((1, 2, 3), 2)]
        try:
            # Twice: the retry must not take the pieces again.
            await asyncio.gather(*(service.reserve_stock(key, lines) for _ in range(2)))
        except OutOfStock:
            refused += 1

    await asyncio.gather(*(reserve(key) for key in keys))
    assert refused, "not all of them can have what they ask for"
    assert all(0 <= pieces <= PIECES for pieces in await stock(store))
    held = [reservation for reservation in store._reservations.values() if reservation.lines]
    assert len(held) == len(keys) - refused
    for number, left in enumerate(await stock(store), start=1):
        taken = sum(line.quantity for one in held for line in one.lines if line.product_id == number)
        assert left + taken == PIECES
    await asyncio.gather(*(service.release_reservation(key) for key in keys for _ in range(2)))
    assert await stock(store) == [PIECES] * 3


async def test_transaction_that_fails_takes_every_step_back() -> None:
    review = Review(1, 2, 1, 5, "Good", "Very.")
    store = MemoryProductStore((Product(number, "Tea", "", "tea", EUR, PIECES) for number in (1, 2)), [review])
    async with store.transaction() as first:
        await first.claim("kept", ReservationState.HELD)
        await first.take("kept", [ReservedLine(1, 5, EUR)])

    async def all_of_it() -> None:
        async with store.transaction() as broken:
            await broken.claim("new", ReservationState.HELD)
            await broken.take("new", [ReservedLine(1, 1, EUR), ReservedLine(2, 2, EUR)])
            kept = await broken.find_locked("kept")
            await broken.confirm(kept)
            await broken.give_back(kept)
            await broken.delete(2)
            raise OutOfStock("too few")

    with pytest.raises(OutOfStock):
        await all_of_it()
    assert await stock(store) == [PIECES - 5, PIECES]
    assert await store.page(after=0, limit=9, category="tea") == await store.batch_get([1, 2])
    assert await store.reviews([1, 2], 3) == [review]
    async with store.transaction() as after:
        kept = await after.find_locked("kept")
        assert (kept.state, kept.lines) == (ReservationState.HELD, (ReservedLine(1, 5, EUR),))
        assert await after.find_locked("new") is None


def checkout(key: str = "k", **changes: object) -> Checkout:
    return replace(Checkout(str(uuid.uuid4()), 1, key, b"body"), **changes)  # type: ignore[arg-type]


async def test_checkout_of_a_key_is_begun_once() -> None:
    store = MemoryCheckouts(MemoryOrders())
    first = await store.claim(checkout())
    assert (await store.claim(checkout())).id == first.id
    assert (await store.claim(checkout("other"))).id != first.id
    await store.fail(first, SHORT)
    # A permanent refusal stays; a temporary failure is begun anew, with the next epoch.
    assert (await store.claim(checkout())).refusal == SHORT
    away = await store.claim(checkout("away"))
    await store.fail(away, AWAY)
    assert (await store.claim(checkout("away", request_hash=b"another"))).id == away.id
    again = await store.claim(checkout("away"))
    assert again.id != away.id
    assert again.epoch == 2
    with pytest.raises(TakenOver):
        await store.fail(away, AWAY)


async def test_checkout_of_a_deleted_account_is_not_shown() -> None:
    known = checkout(state=SagaState.COMPLETED, step=Step.SETTLE, order_id=4)
    store = MemoryCheckouts(MemoryOrders(gone={1}), [(known, 0.0)])
    with pytest.raises(NotFound, match="user 1"):
        await store.claim(checkout())


async def test_checkout_places_one_order_and_goes_no_way_back() -> None:
    orders = MemoryOrders()
    store = MemoryCheckouts(orders)
    begun = await store.claim(checkout())
    with pytest.raises(TakenOver):
        await store.place(begun, BOUGHT)
    begun = await store.advance(begun, Step.AUTHORIZE)
    order = await store.place(begun, BOUGHT)
    assert (order.status, order.total, [line.line_number for line in order.lines]) == (
        OrderStatus.PENDING,
        Money(300, "EUR"),
        [1, 2],
    )
    for wrong in (store.place(begun, BOUGHT), store.start_undo(begun, Step.AUTHORIZE, AWAY), store.fail(begun, AWAY)):
        with pytest.raises(TakenOver):
            await wrong
    await store.complete(begun)
    stored = await orders.get(order.id)
    assert stored.status is OrderStatus.CONFIRMED
    assert [line.id async for lines in orders.lines(after=0, limit=9, chunk=1) for line in lines] == [1, 2]


async def test_only_checkouts_without_a_driver_are_taken_over() -> None:
    clock = Clock()
    store = MemoryCheckouts(MemoryOrders(), clock=clock)
    driven, left = await store.claim(checkout()), await store.claim(checkout("left"))
    done = await store.claim(checkout("done"))
    await store.fail(done, SHORT)
    assert await store.take_stuck(9) == []
    await store.postpone(left, 0.0)
    assert [stuck.id for stuck in await store.take_stuck(9)] == [left.id]
    with pytest.raises(TakenOver):
        await store.advance(left, Step.AUTHORIZE)
    assert await store.take_stuck(9) == []
    clock.now += LEASE_S
    stuck = await store.take_stuck(1)
    stuck += await store.take_stuck(9)
    assert {(one.id, one.epoch) for one in stuck} == {(driven.id, 2), (left.id, 3)}


async def test_cancellation_is_begun_once_and_left_to_recovery() -> None:
    clock = Clock()
    orders = MemoryOrders()
    order = orders.place(1, "c", BOUGHT)
    store = MemoryCancellations(orders, clock=clock)
    assert await store.begin(order.id) is None, "its checkout is under way"
    orders.confirm(order.id)
    begun = await store.begin(order.id)
    assert begun.checkout_id == "c"
    assert await store.begin(order.id) is None
    assert await store.find_running(order.id) == begun
    assert await store.take_stuck(9) == []
    await store.postpone(begun, 0.0)
    (taken,) = await store.take_stuck(9)
    assert taken.epoch == 2
    await store.complete(taken)
    await store.complete(taken)
    await store.postpone(taken, 0.0)
    assert await store.find_running(order.id) is None
    assert await store.take_stuck(9) == []


async def test_things_of_a_deleted_account_belong_to_nobody() -> None:
    payments = MemoryPayments([await MemoryPayments().add("a", 1, EUR, "")], gone={1})
    shown = await payments.get(1)
    assert shown.payment.user_id == 0
    placed = MemoryOrders().place(1, "c", BOUGHT)
    orders = MemoryOrders([placed], [(placed.id, "c")], gone={1})
    assert [order.user_id for order in await orders.get_many([placed.id])] == [0]
    assert await orders.of_user(1, before=0, limit=9) == []
    assert [line.user_id async for lines in orders.lines(after=0, limit=9, chunk=9) for line in lines] == [1, 1]


async def test_failed_logins_are_forgotten_in_time() -> None:
    clock = Clock()
    store = MemoryUserStore([(ADA, "hash")], clock=clock)
    for _ in range(3):
        await store.note_failure(ADA.email, 300)
    assert (await store.credentials(ADA.email)).failures == 3
    clock.now += 200
    await store.note_failure("eve@example.com", 300)
    clock.now += 100
    assert (await store.credentials(ADA.email)).failures == 0
    assert (await store.credentials("eve@example.com")).failures == 1
    await store.note_failure(ADA.email, 300)
    assert (await store.credentials(ADA.email)).failures == 1
    assert len(store._failures) == 2
    clock.now += 1_000
    await store.note_failure("new@example.com", 300)
    assert len(store._failures) == 1, "expired ones take no room"


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("expected.id", Product(2, "", "", "", EUR, 1)),
        ("expected.title", Product(1, "nul \x00", "", "", EUR, 1)),
        ("expected.price.currency", Product(1, "", "", "", Money(1, "\ud800"), 1)),
        ("expected.stock", Product(1, "", "", "", EUR, -(2**63))),
    ],
)
async def test_an_expected_product_can_be_compared(field: str, expected: Product) -> None:
    service = ProductService(MemoryProductStore())
    for call in (service.update_product(1, title="x", expected=expected), service.delete_product(1, expected=expected)):
        with pytest.raises(InvalidArgument) as refusal:
            await call
        assert refusal.value.field == field
