"""The payment service as a REST client sees it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from shop.clients.rest.channel import RestPeer, listed
from shop.money import Money
from shop.values.payment import Payment

_BY_CHECKOUT = "/v1/payments/by-checkout/{checkout_id}"


class _Payments(msgspec.Struct):
    payments: list[Payment]


class RestPaymentClient(RestPeer):
    """`shop.clients.ports.PaymentClient` over REST."""

    async def authorize_payment(self, *, checkout_id: str, user_id: int, amount: Money, payment_token: str) -> Payment:
        body = {"user_id": user_id, "amount": amount, "payment_token": payment_token}
        return await self.send(Payment, "PUT", _BY_CHECKOUT, checkout_id, body=body)

    async def capture_payment(self, *, checkout_id: str, order_id: int) -> Payment:
        return await self.send(Payment, "POST", f"{_BY_CHECKOUT}:capture", checkout_id, body={"order_id": order_id})

    async def void_payment(self, checkout_id: str) -> Payment:
        return await self.send(Payment, "POST", f"{_BY_CHECKOUT}:void", checkout_id)

    async def get_payment(self, payment_id: int) -> Payment:
        return await self.get(Payment, "/v1/payments/{payment_id}", payment_id, fields={"payment_id": "id"})

    async def batch_get_payments_by_order(self, order_ids: Sequence[int]) -> list[Payment]:
        query = {"order_ids": listed(order_ids)}
        return (await self.get(_Payments, "/v1/payments", query=query)).payments
