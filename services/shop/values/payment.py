"""Payments, as services and clients exchange them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Struct

from shop.fields import Id, Instant, describe
from shop.money import Money

PaidOrder = Annotated[int, describe("The order it belongs to; 0 until it is captured.", minimum=0)]


class PaymentStatus(StrEnum):
    """How far a payment has come."""

    AUTHORIZED = "AUTHORIZED"
    CAPTURED = "CAPTURED"
    VOIDED = "VOIDED"
    DECLINED = "DECLINED"


class Payment(Struct, frozen=True, gc=False):
    """The payment of one checkout."""

    id: Id
    checkout_id: Annotated[str, describe("UUID of the checkout.")]
    order_id: PaidOrder
    user_id: Annotated[
        int, describe("Who pays; 0 if the account is gone, or the checkout was voided first.", minimum=0)
    ]
    status: PaymentStatus
    amount: Money
    placed_at: Annotated[Instant, describe("When it was authorised.")]
