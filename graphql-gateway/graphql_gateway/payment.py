"""Payments of orders."""

from __future__ import annotations

from typing import cast

import strawberry

from graphql_gateway.context import GatewayInfo
from graphql_gateway.global_id import global_id, number_of
from graphql_gateway.node import Node
from graphql_gateway.order import Order, order_of
from shop.errors import no_such
from shop.payment.domain import Payment as ShopPayment
from shop.payment.domain import PaymentStatus
from shop.platform.graphql.field import field
from shop.platform.graphql.money import Money

strawberry.enum(PaymentStatus, description="How far a payment has come.")


@strawberry.type(description="The payment of one order. The customer and partners only.")
class Payment(Node):
    status: PaymentStatus
    amount: Money
    order_number: strawberry.Private[int]

    @classmethod
    def of(cls, payment: ShopPayment) -> Payment:
        """Returns the service's payment as a GraphQL object."""
        return cls(
            id=strawberry.ID(global_id("Payment", payment.id)),
            status=payment.status,
            amount=cast(Money, payment.amount),
            number=payment.id,
            order_number=payment.order_id,
        )

    @field(description="The order that it pays; null until the money is captured.")
    def order(self, info: GatewayInfo) -> Order | None:
        return order_of(info, self.order_number) if self.order_number else None


async def own_payment(info: GatewayInfo, number: int) -> Payment:
    """Returns the payment with this id to whom it belongs, and to partners.

    Raises:
        Unauthenticated: There is no valid token.
        NotFound: There is none, or it is another customer's.
    """
    caller = info.context.caller
    payment = await info.context.clients.payment.get_payment(number)
    caller.require_visible(payment.user_id, no_such("payment", number))
    return Payment.of(payment)


@strawberry.type
class PaymentQuery:
    """The payments' fields of `Query`."""

    @field(description="One payment; NOT_FOUND if there is none. The customer and partners only.")
    async def payment(self, info: GatewayInfo, id: strawberry.ID) -> Payment | None:  # noqa: A002
        return await own_payment(info, number_of(id, "Payment"))
