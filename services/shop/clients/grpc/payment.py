"""Payments as a gRPC client sees them."""

from __future__ import annotations

from collections.abc import Sequence

import grpc.aio

from shop.messages.payment import payment_from
from shop.messages.shared import build, money_argument
from shop.money import Money
from shop.platform.grpc.client import Peer
from shop.stubs import payment_pb2 as pb
from shop.stubs import payment_pb2_grpc
from shop.values.payment import Payment


class GrpcPaymentClient:
    """`shop.clients.ports.PaymentClient` over gRPC."""

    def __init__(self, peer: Peer, channel: grpc.aio.Channel) -> None:
        self._peer = peer
        self._stub = payment_pb2_grpc.PaymentServiceStub(channel)

    async def authorize_payment(self, *, checkout_id: str, user_id: int, amount: Money, payment_token: str) -> Payment:
        request = build(
            pb.AuthorizePaymentRequest,
            checkout_id=checkout_id,
            user_id=user_id,
            amount=money_argument(amount, "amount"),
            payment_token=payment_token,
        )
        return payment_from(await self._peer.unary(self._stub.AuthorizePayment, "AuthorizePayment", request))

    async def capture_payment(self, *, checkout_id: str, order_id: int) -> Payment:
        request = build(pb.CapturePaymentRequest, checkout_id=checkout_id, order_id=order_id)
        return payment_from(await self._peer.unary(self._stub.CapturePayment, "CapturePayment", request))

    async def void_payment(self, checkout_id: str) -> Payment:
        request = build(pb.VoidPaymentRequest, checkout_id=checkout_id)
        return payment_from(await self._peer.unary(self._stub.VoidPayment, "VoidPayment", request))

    async def get_payment(self, payment_id: int) -> Payment:
        request = build(pb.GetPaymentRequest, id=payment_id)
        return payment_from(await self._peer.unary(self._stub.GetPayment, "GetPayment", request))

    async def batch_get_payments_by_order(self, order_ids: Sequence[int]) -> list[Payment]:
        request = build(pb.BatchGetPaymentsByOrderRequest, order_ids=order_ids)
        response = await self._peer.unary(self._stub.BatchGetPaymentsByOrder, "BatchGetPaymentsByOrder", request)
        return [payment_from(payment) for payment in response.payments]
