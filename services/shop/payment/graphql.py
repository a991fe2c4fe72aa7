"""Payments over GraphQL: decodes, calls, encodes. The types have the attributes of the value types."""

from __future__ import annotations

from typing import TypeAlias, cast

import strawberry

from shop.payment.service import PaymentService
from shop.platform.graphql.endpoint import Endpoint
from shop.platform.graphql.field import field
from shop.platform.graphql.money import Money, MoneyInput
from shop.platform.graphql.scalars import Long, Moment
from shop.platform.graphql.schema import Schema
from shop.platform.graphql.service import ServiceContext, graphql_app
from shop.platform.incoming import Incoming
from shop.values.payment import PaymentStatus

Info: TypeAlias = strawberry.Info[ServiceContext[PaymentService], None]

strawberry.enum(PaymentStatus, description="How far a payment has come.")


@strawberry.type
class Payment:
    """The payment of one checkout; `orderId` is 0 until it is captured, `userId` 0 if the account is gone."""

    id: Long
    checkout_id: str
    order_id: Long
    user_id: Long
    status: PaymentStatus
    amount: Money
    placed_at: Moment


@strawberry.type
class Query:
    """What can be read."""

    @field(description="One payment; NOT_FOUND if there is none.")
    async def payment(self, info: Info, id: Long) -> Payment:  # noqa: A002
        return cast(Payment, await info.context.service.get_payment(id))

    @field(description="The payments of the orders that have one, in the order asked for.")
    async def payments_by_order(self, info: Info, order_ids: list[Long]) -> list[Payment]:
        return cast(list[Payment], await info.context.service.batch_get_payments_by_order(order_ids))


@strawberry.type
class Mutation:
    """What can be changed."""

    @field(description="Asks the bank to set an amount aside; idempotent by checkout.")
    async def authorize_payment(
        self, info: Info, checkout_id: str, user_id: Long, amount: MoneyInput, payment_token: str
    ) -> Payment:
        payment = await info.context.service.authorize_payment(
            checkout_id=checkout_id, user_id=user_id, amount=amount.to_shop(), payment_token=payment_token
        )
        return cast(Payment, payment)

    @field(description="Takes an authorised amount; idempotent.")
    async def capture_payment(self, info: Info, checkout_id: str, order_id: Long) -> Payment:
        payment = await info.context.service.capture_payment(checkout_id=checkout_id, order_id=order_id)
        return cast(Payment, payment)

    @field(description="Gives an amount back; idempotent.")
    async def void_payment(self, info: Info, checkout_id: str) -> Payment:
        return cast(Payment, await info.context.service.void_payment(checkout_id))


def build_app(service: PaymentService, incoming: Incoming) -> Endpoint:
    """Returns the payments' GraphQL application."""
    return graphql_app(Schema(query=Query, mutation=Mutation), service, incoming)
