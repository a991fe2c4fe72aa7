"""Payments over Thrift: for each method whom it admits, what it does, and what it answers with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shop.messages.shared import money_from
from shop.messages.structs import payment_struct
from shop.payment.service import PaymentService
from shop.platform.access.rules import Access, may_act_for, visible
from shop.platform.thrift.processor import Method, Processor
from shop.stubs.thrift import PaymentService as PaymentServiceStubs
from shop.stubs.thrift import ttypes as t
from shop.values.payment import Payment


def processor(service: PaymentService) -> Processor:
    """Returns what answers the messages about payments."""

    async def get(request: Any) -> Payment:
        return visible("payment", await service.get_payment(request.id))

    async def batch_get(request: Any) -> Sequence[Payment]:
        payments = await service.batch_get_payments_by_order(request.order_ids)
        return [payment for payment in payments if may_act_for(payment.user_id)]

    return Processor(
        PaymentServiceStubs,
        {
            "AuthorizePayment": Method(
                Access.INTERNAL,
                lambda r: service.authorize_payment(
                    checkout_id=r.checkout_id,
                    user_id=r.user_id,
                    amount=money_from(r.amount),
                    payment_token=r.payment_token,
                ),
                payment_struct,
            ),
            "CapturePayment": Method(
                Access.INTERNAL,
                lambda r: service.capture_payment(checkout_id=r.checkout_id, order_id=r.order_id),
                payment_struct,
            ),
            "VoidPayment": Method(Access.INTERNAL, lambda r: service.void_payment(r.checkout_id), payment_struct),
            "GetPayment": Method(Access.CALLER, get, payment_struct),
            "BatchGetPaymentsByOrder": Method(
                Access.CALLER,
                batch_get,
                lambda payments: t.BatchGetPaymentsByOrderResponse([payment_struct(one) for one in payments]),
            ),
        },
    )
