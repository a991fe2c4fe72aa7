"""Payments: their types and rules, without any input or output."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from shop.money import Money


class PaymentStatus(StrEnum):
    """How far a payment has come."""

    AUTHORIZED = "AUTHORIZED"
    CAPTURED = "CAPTURED"
    VOIDED = "VOIDED"
    DECLINED = "DECLINED"


@dataclass(frozen=True, slots=True)
class Payment:
    """The payment of one checkout; `order_id` is 0 until it is captured, `placed_at` has whole seconds in UTC."""

    id: int
    checkout_id: str
    order_id: int
    status: PaymentStatus
    amount: Money
    placed_at: datetime
