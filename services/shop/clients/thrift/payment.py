"""Payments as a Thrift client sees them."""

from __future__ import annotations

from collections.abc import Sequence

from shop.clients.thrift.channel import ThriftPeer
from shop.messages.payment import payment_from
from shop.money import Money
from shop.platform.thrift.encoding import build
from shop.stubs.thrift import ttypes as t
from shop.values.payment import Payment


class ThriftPaymentClient:
    """`shop.clients.ports.PaymentClient` over Thrift."""

    def __init__(self, peer: ThriftPeer) -> None:
        self._call = peer.call

    async def authorize_payment(self, *, checkout_id: str, user_id: int, amount: Money, payment_token: str) -> Payment:
        request = build(
            t.AuthorizePaymentRequest,
            checkout_id=checkout_id,
            user_id=user_id,
            amount=build(t.Money, "amount.", amount_minor=amount.amount_minor, currency=amount.currency),
            payment_token=payment_token,
        )
        return payment_from(await self._call("AuthorizePayment", request))

    async def capture_payment(self, *, checkout_id: str, order_id: int) -> Payment:
        request = build(t.CapturePaymentRequest, checkout_id=checkout_id, order_id=order_id)
        return payment_from(await self._call("CapturePayment", request))

    async def void_payment(self, checkout_id: str) -> Payment:
        return payment_from(await self._call("VoidPayment", build(t.VoidPaymentRequest, checkout_id=checkout_id)))

    async def get_payment(self, payment_id: int) -> Payment:
        return payment_from(await self._call("GetPayment", build(t.GetPaymentRequest, id=payment_id)))

    async def batch_get_payments_by_order(self, order_ids: Sequence[int]) -> list[Payment]:
        request = build(t.BatchGetPaymentsByOrderRequest, order_ids=list(order_ids))
        response = await self._call("BatchGetPaymentsByOrder", request)
        return [payment_from(payment) for payment in response.payments]
