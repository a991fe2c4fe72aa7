"""The payment service over gRPC: decodes requests, calls the service, encodes answers."""

# ruff: noqa: N802, ARG002 - the methods have the contract's names and gRPC's arguments

from __future__ import annotations

from typing import Any, TypeAlias

from google.protobuf.timestamp_pb2 import Timestamp
from grpc.aio import Server, ServicerContext

from shop.messages.payment import STATUS_NUMBERS
from shop.messages.shared import money_from, money_message
from shop.payment.service import PaymentService
from shop.platform.access.rules import Access, admits, may_act_for, visible
from shop.stubs import payment_pb2, payment_pb2_grpc
from shop.values.payment import Payment

Context: TypeAlias = "ServicerContext[Any, Any]"


class PaymentServicer(payment_pb2_grpc.PaymentServiceServicer):
    """Serves `shop.payment.v1.PaymentService`; the server's interceptors turn errors into statuses."""

    def __init__(self, service: PaymentService) -> None:
        self._service = service

    @admits(Access.INTERNAL)
    async def AuthorizePayment(
        self, request: payment_pb2.AuthorizePaymentRequest, context: Context
    ) -> payment_pb2.Payment:
        amount = money_from(request.amount)
        return _encode(
            await self._service.authorize_payment(
                checkout_id=request.checkout_id,
                user_id=request.user_id,
                amount=amount,
                payment_token=request.payment_token,
            )
        )

    @admits(Access.INTERNAL)
    async def CapturePayment(self, request: payment_pb2.CapturePaymentRequest, context: Context) -> payment_pb2.Payment:
        return _encode(await self._service.capture_payment(checkout_id=request.checkout_id, order_id=request.order_id))

    @admits(Access.INTERNAL)
    async def VoidPayment(self, request: payment_pb2.VoidPaymentRequest, context: Context) -> payment_pb2.Payment:
        return _encode(await self._service.void_payment(request.checkout_id))

    @admits(Access.CALLER)
    async def GetPayment(self, request: payment_pb2.GetPaymentRequest, context: Context) -> payment_pb2.Payment:
        return _encode(visible("payment", await self._service.get_payment(request.id)))

    @admits(Access.CALLER)
    async def BatchGetPaymentsByOrder(
        self, request: payment_pb2.BatchGetPaymentsByOrderRequest, context: Context
    ) -> payment_pb2.BatchGetPaymentsByOrderResponse:
        payments = await self._service.batch_get_payments_by_order(request.order_ids)
        shown = [_encode(payment) for payment in payments if may_act_for(payment.user_id)]
        return payment_pb2.BatchGetPaymentsByOrderResponse(payments=shown)


def register(server: Server, service: PaymentService) -> list[str]:
    """Adds the service to a server and returns the full names of what was added, for health and reflection."""
    payment_pb2_grpc.add_PaymentServiceServicer_to_server(PaymentServicer(service), server)
    return [payment_pb2.DESCRIPTOR.services_by_name["PaymentService"].full_name]


def _encode(payment: Payment) -> payment_pb2.Payment:
    return payment_pb2.Payment(
        id=payment.id,
        checkout_id=payment.checkout_id,
        order_id=payment.order_id,
        user_id=payment.user_id,
        status=STATUS_NUMBERS[payment.status],
        amount=money_message(payment.amount),
        create_time=Timestamp(seconds=int(payment.placed_at.timestamp())),
    )
