"""The checkout as its callers see it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from conforming import words
from dataset.audit import Finding
from shop.contract.ports import Clients
from shop.errors import (
    Conflict,
    ErrorCode,
    IdempotencyKeyReused,
    InvalidArgument,
    NotFound,
    OutOfStock,
    PaymentDeclined,
    ShopError,
)
from shop.money import Money
from shop.platform.deadline import deadline
from shop.values.order import CheckoutLine, OrderStatus
from shop.values.payment import PaymentStatus

from .conftest import broken

AUDITED = True
Buy = Callable[..., Any]
NOWHERE = 2**62


async def wait_and_audit(trial: Any) -> list[Finding]:
    """Returns invariants still broken after a while; a call may reach the service long after its caller has gone."""
    for _ in range(1_000):
        if not (findings := broken(trial)):
            break
        await asyncio.sleep(0.05)
    return findings


async def stock(shop: Clients, *products: int) -> list[int]:
    return [product.stock for product in await shop.product.batch_get_products(products)]


async def test_a_checkout_gives_a_confirmed_order_that_is_paid(shop: Clients, buy: Buy, shared_trial: Any) -> None:
    before = await stock(shop, 8_001, 8_002)
    prices = [product.price for product in await shop.product.batch_get_products([8_001, 8_002])]
    order = await buy(shop.order)
    assert order.status is OrderStatus.CONFIRMED
    assert order.placed_at.microsecond == 0
    assert [(line.line_number, line.product_id, line.quantity) for line in order.lines] == [
        (1, 8_001, 2),
        (2, 8_002, 1),
    ]
    assert [line.unit_price for line in order.lines] == prices
    assert order.total == prices[0] * 2 + prices[1]
    assert await shop.order.get_order(order.id) == order
    assert await stock(shop, 8_001, 8_002) == [before[0] - 2, before[1] - 1]
    (payment,) = await shop.payment.batch_get_payments_by_order([order.id])
    assert (payment.status, payment.amount, payment.order_id) == (PaymentStatus.CAPTURED, order.total, order.id)
    assert broken(shared_trial) == []


async def test_the_same_key_gives_the_same_order(shop: Clients, buy: Buy, user: int, shared_trial: Any) -> None:
    first = await buy(shop.order)
    assert await buy(shop.order) == first
    await shop.order.update_order_status(first.id, OrderStatus.SHIPPED)
    assert (await buy(shop.order)).status is OrderStatus.SHIPPED
    assert (await buy(shop.order, key="another")).id != first.id
    assert (await buy(shop.order, user=user + 1_000)).id != first.id
    assert broken(shared_trial) == []


@pytest.mark.parametrize(
    "change", [{"lines": [CheckoutLine(8_001, 1)]}, {"token": "tok_declined"}], ids=["other lines", "other card"]
)
async def test_the_same_key_with_another_body_is_refused(shop: Clients, buy: Buy, change: dict[str, Any]) -> None:
    await buy(shop.order)
    with pytest.raises(IdempotencyKeyReused) as refusal:
        await buy(shop.order, **change)
    assert refusal.value.field == "idempotency_key"


async def test_concurrent_calls_with_one_key_buy_once(shop: Clients, buy: Buy, shared_trial: Any) -> None:
    async def insist() -> int:
        for _ in range(200):
            try:
                return int((await buy(shop.order)).id)
            except Conflict:
                await asyncio.sleep(0.01)
        raise AssertionError("no answer")

    assert await asyncio.gather(*(insist() for _ in range(8)))
    assert broken(shared_trial) == []


async def test_concurrent_checkouts_of_the_same_products_all_succeed(
    shop: Clients, buy: Buy, shared_trial: Any
) -> None:
    async def checkout(number: int) -> int:
        # Half of the checkouts name the products in reverse order, which must not cause a deadlock.
        lines = [CheckoutLine(8_001, 1), CheckoutLine(8_002, 1)][:: 1 if number % 2 else -1]
        return int((await buy(shop.order, key=f"key-{number}", lines=lines)).id)

    assert len(set(await asyncio.gather(*(checkout(number) for number in range(20))))) == 20
    assert broken(shared_trial) == []


@pytest.mark.parametrize(
    ("change", "error", "field"),
    [
        ({"user": NOWHERE}, NotFound, "user_id"),
        ({"lines": [CheckoutLine(NOWHERE, 1)]}, NotFound, "lines[0].product_id"),
        ({"token": "tok_declined"}, PaymentDeclined, "payment_token"),
        ({"token": "tok_insufficient_funds"}, PaymentDeclined, "payment_token"),
        ({"token": "tok_unknown"}, InvalidArgument, "payment_token"),
    ],
)
async def test_a_refused_checkout_buys_nothing_and_is_refused_again(
    shop: Clients, buy: Buy, shared_trial: Any, change: dict[str, Any], error: type[ShopError], field: str
) -> None:
    before = await stock(shop, 8_001, 8_002)
    answers = []
    for _ in range(2):
        with pytest.raises(error) as refusal:
            await buy(shop.order, **change)
        answers.append((refusal.value.code, refusal.value.message, refusal.value.field))
    assert answers[0] == answers[1]
    assert answers[0][2] == field
    assert await stock(shop, 8_001, 8_002) == before
    assert broken(shared_trial) == []


async def test_too_little_stock_is_refused_again_even_when_there_is_enough_by_then(
    shop: Clients, buy: Buy, shared_trial: Any
) -> None:
    product = await shop.product.create_product(
        title="Rare", description="", category="rare", price=Money(100, "EUR"), stock=1
    )
    lines = [CheckoutLine(product.id, 2)]
    for available in (1, 5):
        product = await shop.product.update_product(product.id, stock=available, expected=product)
        with pytest.raises(OutOfStock):
            await buy(shop.order, lines=lines)
    assert (await buy(shop.order, lines=lines, key="a new key")).status is OrderStatus.CONFIRMED
    assert broken(shared_trial) == []


async def test_prices_in_two_currencies_are_refused_and_given_back(shop: Clients, buy: Buy, shared_trial: Any) -> None:
    franc = await shop.product.create_product(
        title="Swiss", description="", category="swiss", price=Money(100, "CHF"), stock=3
    )
    with pytest.raises(ShopError, match=words("CHF and EUR")):
        await buy(shop.order, lines=[CheckoutLine(8_001, 1), CheckoutLine(franc.id, 1)])
    assert await stock(shop, franc.id) == [3]
    assert broken(shared_trial) == []


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"user": 0}, "user_id"),
        ({"lines": []}, "lines"),
        ({"lines": [CheckoutLine(p, 1) for p in range(1, 102)]}, "lines"),
        ({"lines": [CheckoutLine(0, 1)]}, "lines[0].product_id"),
        ({"lines": [CheckoutLine(1, 1), CheckoutLine(2, 0)]}, "lines[1].quantity"),
        ({"lines": [CheckoutLine(1, 1_001)]}, "lines[0].quantity"),
        ({"lines": [CheckoutLine(1, 1), CheckoutLine(1, 1)]}, "lines[1].product_id"),
        ({"token": ""}, "payment_token"),
        ({"key": ""}, "idempotency_key"),
        ({"key": "x" * 65}, "idempotency_key"),
        ({"key": "line\nbreak"}, "idempotency_key"),
        ({"key": "schlüssel"}, "idempotency_key"),
    ],
)
async def test_arguments_out_of_range_are_named(shop: Clients, buy: Buy, change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        await buy(shop.order, **change)
    assert refusal.value.field == field


async def test_a_caller_that_leaves_leaves_nothing_half_done(shop: Clients, buy: Buy, shared_trial: Any) -> None:
    async def hurry(attempt: int) -> None:
        async with asyncio.timeout(0.001 * attempt):
            with deadline(0.002 * attempt + 0.001):
                await buy(shop.order, key=f"key-{attempt}")

    allowed = {ErrorCode.DEADLINE_EXCEEDED, ErrorCode.UNAVAILABLE}
    for attempt in range(12):
        try:
            await hurry(attempt)
        except TimeoutError:
            pass
        except ShopError as error:
            allowed.add(error.code)
    assert allowed == {ErrorCode.DEADLINE_EXCEEDED, ErrorCode.UNAVAILABLE}
    assert await wait_and_audit(shared_trial) == []
    # After any outcome, the same keys give orders now.
    orders = [await buy(shop.order, key=f"key-{attempt}") for attempt in range(12)]
    assert len({order.id for order in orders}) == 12
    assert broken(shared_trial) == []


async def test_a_checkout_costs_four_statements_of_the_order_service(
    statements: Counter[str], shop: Clients, buy: Buy
) -> None:
    await buy(shop.order)  # so that all statements are prepared
    statements.clear()
    await buy(shop.order, key="counted", lines=[CheckoutLine(product, 1) for product in range(8_001, 8_006)])
    own = Counter({name: count for name, count in statements.items() if "checkout" in name or "orders" in name})
    assert sum(own.values()) == 4
    assert {name: count for name, count in statements.items() if "payment" in name} == {
        "INSERT payment": 1,
        "UPDATE payment": 1,
    }
    assert statements["SELECT account"] == 1
