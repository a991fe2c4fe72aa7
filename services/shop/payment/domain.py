"""Payments: their rules, without any I/O."""

from __future__ import annotations

from msgspec import Struct

from shop.errors import FailedPrecondition, PaymentDeclined
from shop.money import Money
from shop.values.payment import Payment, PaymentStatus

NOTHING = Money(0, "XXX")
"""The amount of a payment that was voided before it was authorised; XXX is ISO 4217's "no currency"."""


class StoredPayment(Struct, frozen=True, gc=False):
    """A payment together with the bank's reason for declining it; the reason is empty unless the bank declined."""

    payment: Payment
    decline_reason: str = ""


def decide_authorization(stored: StoredPayment, user_id: int, amount: Money) -> Payment:
    """Decides the outcome of an authorisation from the stored payment of its checkout.

    Returns:
        The payment, which is already captured if the call is a late retry.

    Raises:
        PaymentDeclined: The bank declined this call or an earlier one.
        FailedPrecondition: The checkout was voided, or its payment belongs to another user or has another amount.
    """
    payment = stored.payment
    if payment.status is PaymentStatus.VOIDED:
        raise FailedPrecondition(f"checkout {payment.checkout_id} was voided; start another one", field="checkout_id")
    if payment.user_id != user_id:
        raise FailedPrecondition(f"checkout {payment.checkout_id} has a payment of another user", field="user_id")
    if payment.amount != amount:
        raise FailedPrecondition(f"checkout {payment.checkout_id} has a payment of another amount", field="amount")
    if payment.status is PaymentStatus.DECLINED:
        raise PaymentDeclined(f"the bank declined the payment: {stored.decline_reason}", field="payment_token")
    return payment


def refused_capture(checkout_id: str, order_id: int, stored: StoredPayment | None) -> FailedPrecondition:
    """Returns the error that says why a payment cannot be captured for an order."""
    if stored is None:
        return FailedPrecondition(f"checkout {checkout_id} has no authorised payment", field="checkout_id")
    payment = stored.payment
    if payment.status is PaymentStatus.CAPTURED:
        return FailedPrecondition(
            f"the payment of checkout {checkout_id} belongs to order {payment.order_id}, not {order_id}",
            field="order_id",
        )
    return FailedPrecondition(
        f"the payment of checkout {checkout_id} is {payment.status}; it must be {PaymentStatus.AUTHORIZED}",
        field="checkout_id",
    )
