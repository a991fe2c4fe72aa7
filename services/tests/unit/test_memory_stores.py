"""What only the stores in memory do; all other promises have the same tests as those of the stores in the database."""

from __future__ import annotations

import uuid

import pytest
from msgspec.structs import replace

from memory_stores.order import MemoryCancellations, MemoryCheckouts, MemoryOrders
from memory_stores.payment import MemoryPayments
from memory_stores.product import MemoryProductStore
from memory_stores.user import MemoryUserStore
from shop.errors import InvalidArgument, NotFound
from shop.money import Money
from shop.order.checkout_states import Checkout, SagaState, Step
from shop.order.domain import PricedLine, Purchase
from shop.order.ports import Cancellation
from shop.product.service import ProductService
from shop.values.product import Product
from shop.values.user import Address, User

EUR = Money(100, "EUR")
ADA = User(1, "ada@example.com", "Ada", Address("Ada", "Street 1", "Berlin", "10115", "DE"))
BOUGHT = Purchase((PricedLine(1, 7, 2, EUR), PricedLine(2, 8, 1, EUR)), Money(300, "EUR"))


def checkout(key: str = "k", **changes: object) -> Checkout:
    return replace(Checkout(str(uuid.uuid4()), 1, key, b"body"), **changes)  # type: ignore[arg-type]


async def test_checkout_of_a_deleted_account_is_not_shown() -> None:
    known = checkout(state=SagaState.COMPLETED, step=Step.SETTLE, order_id=4)
    store = MemoryCheckouts(MemoryOrders(gone={1}), [known])
    with pytest.raises(NotFound, match="user 1"):
        await store.claim(checkout())


async def test_only_sagas_that_are_left_are_taken_over() -> None:
    orders = MemoryOrders()
    order = orders.place(1, "c", BOUGHT)
    orders.confirm(order.id)
    cancellations, checkouts = MemoryCancellations(orders), MemoryCheckouts(orders)
    cancelled, bought = await cancellations.begin(order.id), await checkouts.claim(checkout())
    for store, saga in ((cancellations, cancelled), (checkouts, bought)):
        assert await store.take_stuck(9) == []
        await store.postpone(saga, 60.0)
        assert await store.take_stuck(9) == []
        await store.postpone(saga, 0.0)
        assert await store.take_stuck(9) == [replace(saga, epoch=2)]
        assert await store.take_stuck(9) == []
    await cancellations.complete(cancelled)
    await cancellations.postpone(cancelled, 0.0)
    assert await cancellations.take_stuck(9) == []


async def test_sagas_that_were_under_way_at_the_start_are_taken_over() -> None:
    running, ended = checkout(), checkout("ended", state=SagaState.COMPLETED, step=Step.SETTLE, order_id=4)
    assert await MemoryCheckouts(MemoryOrders(), [running, ended]).take_stuck(9) == [replace(running, epoch=2)]
    cancellation = Cancellation(4, "c", epoch=3)
    assert await MemoryCancellations(MemoryOrders(), [cancellation]).take_stuck(9) == [replace(cancellation, epoch=4)]


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
    store = MemoryUserStore([(ADA, "hash")])
    await store.note_failure(ADA.email, 0.0)
    assert (await store.credentials(ADA.email)).failures == 0
    for email, failures in (("eve@example.com", 1), (ADA.email, 1), (ADA.email, 2)):
        await store.note_failure(email, 300.0)
        assert (await store.credentials(email)).failures == failures
    assert len(store.failures) == 2, "expired ones take no room"


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
