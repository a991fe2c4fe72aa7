"""Faults in payments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faulty.seeds import Fault, change_error, replace
from shop.errors import InvalidArgument
from shop.payment.domain import StoredPayment, decide_authorization
from shop.payment.postgres import PostgresPayments
from shop.payment.service import PaymentService
from shop.values.payment import PaymentStatus

capture = PostgresPayments.capture


async def _capture_once(self: PostgresPayments, checkout_id: str, order_id: int) -> StoredPayment | None:
    stored = await self.of_checkout(checkout_id)
    if stored is not None and stored.payment.status is PaymentStatus.CAPTURED:
        return None
    return await capture(self, checkout_id, order_id)


def _quote_token(error: Exception, given: Mapping[str, Any]) -> Exception:
    if isinstance(error, InvalidArgument) and error.field == "payment_token":
        return InvalidArgument(f"{given['payment_token']} is not known", field="payment_token")
    return error


FAULTS = (
    Fault("a second capture is refused", "every_step_is_idempotent", replace(PostgresPayments.capture, _capture_once)),
    Fault(
        "a checkout takes another amount",
        "another_amount_is_refused",
        replace(
            decide_authorization,
            lambda stored, user_id, amount: decide_authorization(stored, user_id, stored.payment.amount),
        ),
    ),
    Fault(
        "a checkout takes another customer",
        "another_user_is_refused",
        replace(
            decide_authorization,
            lambda stored, user_id, amount: decide_authorization(stored, stored.payment.user_id, amount),
        ),
    ),
    Fault(
        "the message quotes what may be a card number",
        "arguments_out_of_range_are_named",
        change_error(PaymentService.authorize_payment, _quote_token),
    ),
)
