"""Payments: one for a checkout, one for an order, and no way around a void."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from conforming import words
from shop.contract.ports import PaymentClient
from shop.errors import FailedPrecondition, InvalidArgument, NotFound, PaymentDeclined, ShopError
from shop.money import Money
from shop.values.payment import PaymentStatus

AMOUNT = Money(1_999, "EUR")
NOWHERE = 2**62
USER = 17
ORDERS = count(1_000_000)


@pytest.fixture
def checkout() -> str:
    """A checkout that no service knows."""
    return str(uuid.uuid4())


@pytest.fixture
def order() -> int:
    """An order that has no payment."""
    return next(ORDERS)


def authorize(
    payment: PaymentClient, checkout: str, amount: Money = AMOUNT, token: str = "tok_ok", user: int = USER
) -> Any:
    return payment.authorize_payment(checkout_id=checkout, user_id=user, amount=amount, payment_token=token)


async def test_life_of_a_payment(payment: PaymentClient, checkout: str, order: int) -> None:
    made = await authorize(payment, checkout)
    assert (made.status, made.amount, made.order_id) == (PaymentStatus.AUTHORIZED, AMOUNT, 0)
    assert (made.checkout_id, made.user_id) == (checkout, USER)
    assert made.placed_at.microsecond == 0
    captured = await payment.capture_payment(checkout_id=checkout, order_id=order)
    assert (captured.id, captured.status, captured.order_id) == (made.id, PaymentStatus.CAPTURED, order)
    assert await payment.get_payment(made.id) == captured
    voided = await payment.void_payment(checkout)
    assert (voided.status, voided.order_id, voided.amount) == (PaymentStatus.VOIDED, order, AMOUNT)


async def test_every_step_is_idempotent(payment: PaymentClient, checkout: str, order: int) -> None:
    assert await authorize(payment, checkout) == await authorize(payment, checkout.upper())
    first = await payment.capture_payment(checkout_id=checkout, order_id=order)
    assert await payment.capture_payment(checkout_id=checkout, order_id=order) == first
    assert await authorize(payment, checkout) == first
    assert await payment.void_payment(checkout) == await payment.void_payment(checkout)


@pytest.mark.parametrize("token", ["tok_declined", "tok_insufficient_funds"])
async def test_a_decline_stays_a_decline(payment: PaymentClient, checkout: str, order: int, token: str) -> None:
    messages = []
    for again in (token, "tok_ok"):
        with pytest.raises(PaymentDeclined) as refusal:
            await authorize(payment, checkout, token=again)
        messages.append(refusal.value.message)
    assert messages[0] == messages[1]
    with pytest.raises(FailedPrecondition, match=words("DECLINED")):
        await payment.capture_payment(checkout_id=checkout, order_id=order)
    assert (await payment.void_payment(checkout)).status is PaymentStatus.DECLINED


async def test_a_checkout_that_was_voided_first_is_never_authorised(payment: PaymentClient, checkout: str) -> None:
    voided = await payment.void_payment(checkout)
    assert (voided.status, voided.amount, voided.user_id) == (PaymentStatus.VOIDED, Money(0, "XXX"), 0)
    with pytest.raises(FailedPrecondition, match=words("was voided")):
        await authorize(payment, checkout)
    assert await payment.get_payment(voided.id) == voided


async def test_another_amount_is_refused(payment: PaymentClient, checkout: str) -> None:
    await authorize(payment, checkout)
    for amount in (Money(2_000, "EUR"), Money(1_999, "CHF")):
        with pytest.raises(FailedPrecondition) as refusal:
            await authorize(payment, checkout, amount)
        assert refusal.value.field == "amount"


async def test_another_user_is_refused(payment: PaymentClient, checkout: str) -> None:
    await authorize(payment, checkout)
    with pytest.raises(FailedPrecondition) as refusal:
        await authorize(payment, checkout, user=USER + 1)
    assert refusal.value.field == "user_id"


async def test_captures_that_are_refused(payment: PaymentClient, checkout: str, order: int) -> None:
    with pytest.raises(FailedPrecondition, match=words("no authorised payment")):
        await payment.capture_payment(checkout_id=checkout, order_id=order)
    await authorize(payment, checkout)
    await payment.capture_payment(checkout_id=checkout, order_id=order)
    with pytest.raises(FailedPrecondition, match=words(f"belongs to order {order}, not {NOWHERE}")):
        await payment.capture_payment(checkout_id=checkout, order_id=NOWHERE)
    await payment.void_payment(checkout)
    with pytest.raises(FailedPrecondition, match=words("VOIDED")):
        await payment.capture_payment(checkout_id=checkout, order_id=order)


async def test_an_order_has_one_payment(payment: PaymentClient, checkout: str, order: int) -> None:
    other = str(uuid.uuid4())
    for made in (checkout, other):
        await authorize(payment, made)
    await payment.capture_payment(checkout_id=checkout, order_id=order)
    with pytest.raises(FailedPrecondition):
        await payment.capture_payment(checkout_id=other, order_id=order)


async def test_authorising_and_voiding_at_once_ends_voided(payment: PaymentClient) -> None:
    for _ in range(20):
        checkout = str(uuid.uuid4())
        answers = await asyncio.gather(
            authorize(payment, checkout), payment.void_payment(checkout), return_exceptions=True
        )
        assert isinstance(answers[0], FailedPrecondition) or answers[0].status is PaymentStatus.AUTHORIZED
        assert (await payment.void_payment(checkout)).status is PaymentStatus.VOIDED
        with pytest.raises(FailedPrecondition):
            await authorize(payment, checkout)


async def test_payments_of_many_orders(payment: PaymentClient) -> None:
    orders = [next(ORDERS) for _ in range(3)]
    for made in orders:
        checkout = str(uuid.uuid4())
        await authorize(payment, checkout)
        await payment.capture_payment(checkout_id=checkout, order_id=made)
    payments = await payment.batch_get_payments_by_order([orders[2], NOWHERE, orders[0], orders[2]])
    assert [item.order_id for item in payments] == [orders[2], orders[0]]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"checkout": "17"}, "checkout_id"),
        ({"checkout": "zzzzzzzz-zzzz-zzzz-zzzz-zzzzzzzzzzzz"}, "checkout_id"),
        ({"amount": Money(0, "EUR")}, "amount.amount_minor"),
        ({"amount": Money(-1, "EUR")}, "amount.amount_minor"),
        ({"amount": Money(1, "eur")}, "amount.currency"),
        ({"amount": Money(1, "")}, "amount.currency"),
        ({"amount": Money(1, "ZZZ")}, "amount.currency"),
        ({"user": 0}, "user_id"),
        ({"token": "4111 1111 1111 1111"}, "payment_token"),
        ({"token": ""}, "payment_token"),
    ],
)
async def test_arguments_out_of_range_are_named(
    payment: PaymentClient, checkout: str, change: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        await authorize(payment, **{"checkout": checkout, **change})
    assert refusal.value.field == field
    # The message never repeats what may be a card number.
    assert "4111" not in refusal.value.message


async def test_other_arguments_out_of_range(payment: PaymentClient, checkout: str) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: payment.capture_payment(checkout_id="x", order_id=1),
        lambda: payment.capture_payment(checkout_id=checkout, order_id=0),
        lambda: payment.void_payment(""),
        lambda: payment.get_payment(0),
        lambda: payment.batch_get_payments_by_order([]),
        lambda: payment.batch_get_payments_by_order(list(range(1, 1_002))),
    ]
    for call in calls:
        with pytest.raises(InvalidArgument):
            await call()
    with pytest.raises(NotFound) as unknown:
        await payment.get_payment(NOWHERE)
    assert isinstance(unknown.value, ShopError)
