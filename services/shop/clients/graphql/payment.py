"""Payments as a GraphQL client sees them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import structs

from shop.clients.graphql.channel import Document, GraphQLPeer, money
from shop.money import Money
from shop.values.payment import Payment, PaymentStatus

_PAYMENT = "{ id checkoutId orderId userId status amount { amountMinor currency } placedAt }"

AUTHORIZE = Document(
    "mutation AuthorizePayment($checkoutId: String!, $userId: Long!, $amount: MoneyInput!, $paymentToken: String!) "
    "{ authorizePayment(checkoutId: $checkoutId, userId: $userId, amount: $amount, paymentToken: $paymentToken) "
    f"{_PAYMENT} }}"
)
CAPTURE = Document(
    "mutation CapturePayment($checkoutId: String!, $orderId: Long!) "
    f"{{ capturePayment(checkoutId: $checkoutId, orderId: $orderId) {_PAYMENT} }}"
)
VOID = Document(f"mutation VoidPayment($checkoutId: String!) {{ voidPayment(checkoutId: $checkoutId) {_PAYMENT} }}")
GET = Document(f"query GetPayment($id: Long!) {{ payment(id: $id) {_PAYMENT} }}")
BATCH_GET_BY_ORDER = Document(
    f"query BatchGetPaymentsByOrder($orderIds: [Long!]!) {{ paymentsByOrder(orderIds: $orderIds) {_PAYMENT} }}"
)


class GraphQLPaymentClient(GraphQLPeer):
    """`shop.clients.ports.PaymentClient` over GraphQL."""

    async def authorize_payment(self, *, checkout_id: str, user_id: int, amount: Money, payment_token: str) -> Payment:
        answer = await self.run(
            AUTHORIZE,
            checkout_id=checkout_id,
            user_id=user_id,
            amount=structs.asdict(amount),
            payment_token=payment_token,
        )
        return _payment(answer)

    async def capture_payment(self, *, checkout_id: str, order_id: int) -> Payment:
        return _payment(await self.run(CAPTURE, checkout_id=checkout_id, order_id=order_id))

    async def void_payment(self, checkout_id: str) -> Payment:
        return _payment(await self.run(VOID, checkout_id=checkout_id))

    async def get_payment(self, payment_id: int) -> Payment:
        return _payment(await self.run(GET, id=payment_id))

    async def batch_get_payments_by_order(self, order_ids: Sequence[int]) -> list[Payment]:
        return [_payment(answer) for answer in await self.run(BATCH_GET_BY_ORDER, order_ids=list(order_ids))]


def _payment(answer: dict[str, Any]) -> Payment:
    return Payment(
        answer["id"],
        answer["checkoutId"],
        answer["orderId"],
        answer["userId"],
        PaymentStatus(answer["status"]),
        money(answer["amount"]),
        datetime.fromisoformat(answer["placedAt"]),
    )
