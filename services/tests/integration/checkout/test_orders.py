"""Reading orders, moving them along, and cancelling them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from conforming import words
from shop.contract.ports import Clients, OrderClient
from shop.errors import FailedPrecondition, InvalidArgument, InvalidPageToken, NotFound, ShopError
from shop.order.postgres_orders import PostgresOrders
from shop.platform.database.pool import connect_database
from shop.values.order import Order, OrderStatus
from shop.values.payment import PaymentStatus

from .conftest import broken

Buy = Callable[..., Any]
NOWHERE = 2**62


async def find_seeded(shop: Clients, status: OrderStatus) -> Order:
    """Returns a seeded order with a given status: a different order each time."""
    seen = taken.setdefault(status, set())
    orders = await shop.order.batch_get_orders(range(9_001, 10_001))
    order = next(order for order in orders if order.status is status and order.id not in seen)
    seen.add(order.id)
    return order


taken: dict[OrderStatus, set[int]] = {}


async def test_a_seeded_order_has_its_lines(shop: Clients) -> None:
    order = await shop.order.get_order(1)
    assert (order.id, order.user_id) == (1, 1)
    assert order.total.currency == "EUR"
    assert sum(line.unit_price.amount_minor * line.quantity for line in order.lines) == order.total.amount_minor
    assert [line.line_number for line in order.lines] == list(range(1, len(order.lines) + 1))
    assert order.placed_at < datetime(2026, 1, 1, tzinfo=UTC)
    assert order.placed_at.microsecond == 0


async def test_unknown_orders(shop: Clients) -> None:
    with pytest.raises(NotFound, match=words(f"no order {NOWHERE}")):
        await shop.order.get_order(NOWHERE)
    assert [order.id for order in await shop.order.batch_get_orders([7, NOWHERE, 3, 7])] == [7, 3]


async def test_a_thousand_orders_are_one_statement(statements: Counter[str], shop: Clients) -> None:
    statements.clear()
    assert len(await shop.order.batch_get_orders(range(1, 1_001))) == 1_000
    assert sum(statements.values()) == 1


async def test_pages_of_a_user_are_newest_first(shop: Clients) -> None:
    first = await shop.order.list_orders_by_user(5)
    assert [order.id for order in first.items] == [7_205 - 800 * n for n in range(10)]
    assert first.next_page_token == ""
    pages, token = [], ""
    while True:
        page = await shop.order.list_orders_by_user(5, page_size=3, page_token=token)
        pages.append(page.items)
        token = page.next_page_token
        if not token:
            break
    assert [len(page) for page in pages] == [3, 3, 3, 1]
    assert tuple(order for page in pages for order in page) == first.items


async def test_a_user_without_orders_has_an_empty_page(shop: Clients) -> None:
    page = await shop.order.list_orders_by_user(10_000)
    assert (page.items, page.next_page_token) == ((), "")


async def test_a_page_token_of_another_user_is_refused(shop: Clients) -> None:
    token = (await shop.order.list_orders_by_user(5, page_size=3)).next_page_token
    for made_up in (token + "x", "AAAA", "ü"):
        with pytest.raises(InvalidPageToken):
            await shop.order.list_orders_by_user(5, page_size=3, page_token=made_up)
    with pytest.raises(InvalidPageToken):
        await shop.order.list_orders_by_user(6, page_size=3, page_token=token)


@pytest.mark.parametrize(("after", "limit", "ids"), [(0, 0, range(1, 1_001)), (27_000, 600, range(27_001, 27_601))])
async def test_lines_are_streamed_with_their_orders(shop: Clients, after: int, limit: int, ids: range) -> None:
    lines = [line async for line in shop.order.stream_order_lines(after_line_id=after, limit=limit)]
    assert [line.id for line in lines] == list(ids)
    orders = await shop.order.batch_get_orders(sorted({line.order_id for line in lines}))
    joined = {line.id: (order, line) for order in orders for line in order.lines}
    for line in lines:
        order, own = joined[line.id]
        assert (line.user_id, line.status, line.placed_at) == (order.user_id, order.status, order.placed_at)
        assert (line.product_id, line.quantity, line.unit_price) == (own.product_id, own.quantity, own.unit_price)


async def test_a_stream_is_one_statement(statements: Counter[str], shop: Clients) -> None:
    statements.clear()
    assert len([line async for line in shop.order.stream_order_lines(limit=1_000)]) == 1_000
    assert sum(statements.values()) == 1


async def test_a_long_stream_is_read_to_its_end(shop: Clients) -> None:
    lines = [line.id async for line in shop.order.stream_order_lines(after_line_id=100, limit=20_000)]
    assert lines == list(range(101, 20_101))
    assert len([line async for line in shop.order.stream_order_lines(after_line_id=29_990, limit=100_000)]) >= 10


async def test_a_stream_that_is_given_up_frees_its_connection(shop: Clients) -> None:
    for _ in range(5):  # more than there are connections
        stream = shop.order.stream_order_lines(limit=100_000)
        await anext(aiter(stream))
        await stream.aclose()  # type: ignore[attr-defined]
    assert (await shop.order.get_order(1)).id == 1


async def test_a_slow_reader_occupies_no_connection(shared_trial: Any) -> None:
    database = await connect_database(shared_trial.role_url("order"), 1)
    try:
        orders = PostgresOrders(database)
        chunks = orders.lines(after=0, limit=20_000, chunk=250)
        first = await anext(chunks)
        assert await orders.get(1) is not None
        assert len(first) + sum([len(chunk) async for chunk in chunks]) == 20_000
    finally:
        await database.close()


BAD: list[tuple[str, Callable[[OrderClient], Any]]] = [
    *(("ids", lambda o, ids=ids: o.batch_get_orders(ids)) for ids in ([], list(range(1, 1_002)))),
    ("ids[0]", lambda o: o.batch_get_orders([0])),
    ("ids[1]", lambda o: o.batch_get_orders([1, -1])),
    ("page_size", lambda o: o.list_orders_by_user(5, page_size=101)),
    ("after_line_id", lambda o: anext(aiter(o.stream_order_lines(after_line_id=-1)))),
    *(("limit", lambda o, limit=limit: anext(aiter(o.stream_order_lines(limit=limit)))) for limit in (-1, 100_001)),
]


@pytest.mark.parametrize(("field", "call"), BAD, ids=[f"{index}-{field}" for index, (field, _) in enumerate(BAD)])
async def test_argument_out_of_range_is_named(shop: Clients, field: str, call: Callable[[OrderClient], Any]) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        await call(shop.order)
    assert refusal.value.field == field


async def test_an_order_moves_along(shop: Clients, buy: Buy) -> None:
    order = await buy(shop.order)
    for wanted in (OrderStatus.DELIVERED, OrderStatus.SHIPPED, OrderStatus.SHIPPED, OrderStatus.DELIVERED):
        now = (await shop.order.get_order(order.id)).status
        if (now, wanted) in {
            (OrderStatus.CONFIRMED, OrderStatus.SHIPPED),
            (OrderStatus.SHIPPED, OrderStatus.DELIVERED),
        }:
            moved = await shop.order.update_order_status(order.id, wanted)
            assert moved.status is wanted
            assert moved.lines == order.lines
        else:
            with pytest.raises(FailedPrecondition, match=words(f"order {order.id} is {now}")):
                await shop.order.update_order_status(order.id, wanted)
    with pytest.raises(NotFound):
        await shop.order.update_order_status(NOWHERE, OrderStatus.SHIPPED)


@pytest.mark.usefixtures("tables")
async def test_orders_of_a_deleted_user_belong_to_nobody(shop: Clients, buy: Buy, user: int, shared_trial: Any) -> None:
    order = await buy(shop.order)
    (payment,) = await shop.payment.batch_get_payments_by_order([order.id])
    assert (order.user_id, payment.user_id) == (user, user)
    await shop.user.delete_user(user)
    # Partners and services can still read the order.
    assert (await shop.order.get_order(order.id)).user_id == 0
    assert [one.user_id for one in await shop.order.batch_get_orders([order.id])] == [0]
    assert [one.user_id for one in await shop.payment.batch_get_payments_by_order([order.id])] == [0]
    assert (await shop.payment.get_payment(payment.id)).user_id == 0
    assert (await shop.order.list_orders_by_user(user)).items == ()
    lines = shop.order.stream_order_lines(after_line_id=order.lines[0].id - 1, limit=1)
    assert [line.user_id async for line in lines] == [user]
    for key in ("key", "another"):
        with pytest.raises(NotFound, match=words(f"there is no user {user}")) as refusal:
            await buy(shop.order, key=key)
        assert refusal.value.field == "user_id"
    assert (await shop.order.update_order_status(order.id, OrderStatus.SHIPPED)).user_id == 0
    assert broken(shared_trial) == []


@pytest.mark.parametrize("status", sorted(set(OrderStatus) - {OrderStatus.SHIPPED, OrderStatus.DELIVERED}))
async def test_statuses_that_are_not_set_by_hand(shop: Clients, status: OrderStatus) -> None:
    with pytest.raises(InvalidArgument, match=words("SHIPPED, DELIVERED")) as refusal:
        await shop.order.update_order_status(1, status)
    assert refusal.value.field == "status"


async def test_cancelling_returns_stock_and_money(shop: Clients, buy: Buy, shared_trial: Any) -> None:
    before = await shop.product.batch_get_products([8_001, 8_002])
    order = await buy(shop.order)
    assert await shop.product.batch_get_products([8_001, 8_002]) != before
    for _ in range(2):
        assert (await shop.order.cancel_order(order.id)).status is OrderStatus.CANCELLED
    assert await shop.product.batch_get_products([8_001, 8_002]) == before
    (payment,) = await shop.payment.batch_get_payments_by_order([order.id])
    assert payment.status is PaymentStatus.VOIDED
    assert (await buy(shop.order)).status is OrderStatus.CANCELLED
    assert broken(shared_trial) == []


@pytest.mark.parametrize("status", [OrderStatus.CONFIRMED, OrderStatus.CANCELLED])
async def test_seeded_orders_can_be_cancelled_too(shop: Clients, shared_trial: Any, status: OrderStatus) -> None:
    order = await find_seeded(shop, status)
    assert (await shop.order.cancel_order(order.id)).status is OrderStatus.CANCELLED
    assert broken(shared_trial) == []


@pytest.mark.parametrize("status", [OrderStatus.SHIPPED, OrderStatus.DELIVERED])
async def test_shipped_orders_are_not_cancelled(shop: Clients, status: OrderStatus) -> None:
    order = await find_seeded(shop, status)
    with pytest.raises(FailedPrecondition, match=words(f"order {order.id} is {status}")):
        await shop.order.cancel_order(order.id)
    with pytest.raises(NotFound):
        await shop.order.cancel_order(NOWHERE)


async def test_concurrent_shipping_and_cancelling_do_one_of_both(shop: Clients, buy: Buy, shared_trial: Any) -> None:
    for number in range(10):
        order = await buy(shop.order, key=f"key-{number}")
        answers = await asyncio.gather(
            shop.order.cancel_order(order.id),
            shop.order.update_order_status(order.id, OrderStatus.SHIPPED),
            shop.order.cancel_order(order.id),
            return_exceptions=True,
        )
        ended = (await shop.order.get_order(order.id)).status
        assert ended in (OrderStatus.CANCELLED, OrderStatus.SHIPPED)
        for answer in answers:
            assert isinstance(answer, ShopError) or (isinstance(answer, Order) and answer.status is ended)
    assert broken(shared_trial) == []


@pytest.mark.usefixtures("tables")
async def test_an_order_whose_checkout_is_under_way_is_not_cancelled(shop: Clients, shared_trial: Any) -> None:
    order = await find_seeded(shop, OrderStatus.CONFIRMED)
    with psycopg.connect(shared_trial.url, autocommit=True) as admin:
        admin.execute("UPDATE shop_order.orders SET status = 'PENDING' WHERE id = %s", [order.id])
        with pytest.raises(ShopError, match=words("under way")):
            await shop.order.cancel_order(order.id)
        admin.execute("UPDATE shop_order.orders SET status = 'CONFIRMED' WHERE id = %s", [order.id])
