"""Converts the messages of payments to value types, for clients, and has the numbers of their statuses."""

from __future__ import annotations

from datetime import UTC, datetime

from shop.messages.shared import money_from
from shop.stubs import payment_pb2 as pb
from shop.values.payment import Payment, PaymentStatus

STATUS_NUMBERS = {status: pb.PaymentStatus.Value(f"PAYMENT_STATUS_{status.value}") for status in PaymentStatus}
_STATUSES = {number: status for status, number in STATUS_NUMBERS.items()}


def payment_from(message: pb.Payment) -> Payment:
    return Payment(
        message.id,
        message.checkout_id,
        message.order_id,
        message.user_id,
        _STATUSES[message.status],
        money_from(message.amount),
        datetime.fromtimestamp(message.create_time.seconds, UTC),
    )
