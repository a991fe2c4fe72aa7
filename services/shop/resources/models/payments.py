"""Bodies of the payment service's own API, which knows more of a payment than partners see."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from shop.platform.rest.fields import Id, Instant, Money, Received, Sent, absent
from shop.resources.models.orders import PAYMENT, PaymentStatus

_INSIDE = "there only for callers inside the shop."


class Payment(Sent):
    """The payment of one checkout."""

    model_config = ConfigDict(json_schema_extra={"examples": [PAYMENT]})

    id: Id
    order_id: Annotated[int, Field(ge=0, description="The order it belongs to; 0 until it is captured.")]
    status: PaymentStatus
    amount: Money
    checkout_id: Annotated[str, Field(default_factory=absent, description=f"UUID of the checkout; {_INSIDE}")]
    user_id: Annotated[
        int,
        Field(
            ge=0,
            default_factory=absent,
            description=f"Who pays; 0 if the account is gone, or the checkout was voided first; {_INSIDE}",
        ),
    ]
    placed_at: Annotated[Instant, Field(default_factory=absent, description=f"When it was authorised; {_INSIDE}")]


class PaymentList(Sent):
    """The payments found, in the order of the orders asked for; orders without one are left out."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"payments": [PAYMENT]}]})

    payments: list[Payment]


class Authorization(Received):
    """What to set aside, and by which card."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"user_id": 17, "amount": {"amount_minor": 3998, "currency": "EUR"}, "payment_token": "tok_ok"}
            ]
        }
    )

    user_id: Annotated[Id, Field(description="Who pays.")]
    amount: Money
    payment_token: Annotated[str, Field(description="Stands for the customer's card at the bank.")]


class Capture(Received):
    """The order that the payment is for."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"order_id": 4711}]})

    order_id: Id
