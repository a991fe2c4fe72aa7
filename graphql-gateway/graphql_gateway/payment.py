"""Payments for orders, and how clients read them."""

from __future__ import annotations

import strawberry

from graphql_gateway.objects.entities import GatewayInfo, Payment
from graphql_gateway.objects.global_id import number_of
from shop.contract.ports import PaymentClient
from shop.errors import no_such
from shop.platform.graphql.field import field


async def own_payment(info: GatewayInfo, number: int) -> Payment:
    """Returns the payment with this id, if the caller is its owner or a partner.

    Raises:
        Unauthenticated: There is no valid token.
        NotFound: The payment does not exist, or belongs to another customer.
    """
    info.context.admit(PaymentClient.get_payment)
    payment = await info.context.clients.payment.get_payment(number)
    info.context.show(PaymentClient.get_payment, payment.user_id, no_such("payment", number))
    return Payment.of(payment)


@strawberry.type
class PaymentQuery:
    """The fields of `Query` that return payments."""

    @field(description="One payment; NOT_FOUND if there is none. The customer and partners only.")
    async def payment(self, info: GatewayInfo, id: strawberry.ID) -> Payment | None:  # noqa: A002
        return await own_payment(info, number_of(id, "Payment"))
