"""Orders over GraphQL: decodes, calls, encodes. The types have the attributes of the value types."""

from __future__ import annotations

from contextlib import aclosing
from typing import TypeAlias, cast

import strawberry

from shop.order.service import LONGEST_STREAM, OrderService
from shop.platform.graphql.endpoint import Endpoint
from shop.platform.graphql.field import field
from shop.platform.graphql.money import Money
from shop.platform.graphql.scalars import Long, Moment
from shop.platform.graphql.schema import Schema
from shop.platform.graphql.service import ServiceContext, graphql_app
from shop.platform.incoming import Incoming
from shop.values import order as values
from shop.values.order import OrderStatus

LINES_A_PAGE = 2_000

Info: TypeAlias = strawberry.Info[ServiceContext[OrderService], None]

_ZERO = Long(0)

strawberry.enum(OrderStatus, description="How far an order has come.")


@strawberry.type
class OrderLine:
    """One product of an order."""

    id: Long
    line_number: Long
    product_id: Long
    quantity: Long
    unit_price: Money


@strawberry.type
class Order:
    """What one user bought at one time."""

    id: Long
    user_id: Long
    status: OrderStatus
    placed_at: Moment
    total: Money
    lines: list[OrderLine]


@strawberry.type
class OrderPage:
    """One page of a user's orders."""

    items: list[Order]
    next_page_token: str


@strawberry.type
class JoinedOrderLine:
    """An order line together with what it needs of its order."""

    id: Long
    order_id: Long
    user_id: Long
    status: OrderStatus
    placed_at: Moment
    product_id: Long
    quantity: Long
    unit_price: Money


@strawberry.input
class CheckoutLineInput:
    """One product to buy."""

    product_id: Long
    quantity: Long


@strawberry.type
class Query:
    """What can be read."""

    @field(description="One order; NOT_FOUND if there is none.")
    async def order(self, info: Info, id: Long) -> Order:  # noqa: A002
        return cast(Order, await info.context.service.get_order(id))

    @field(description="The orders that exist, in the order asked for.")
    async def orders(self, info: Info, ids: list[Long]) -> list[Order]:
        return cast(list[Order], await info.context.service.batch_get_orders(ids))

    @field(description="A page of one user's orders, newest first.")
    async def orders_by_user(
        self, info: Info, user_id: Long, page_size: Long = _ZERO, page_token: str = ""
    ) -> OrderPage:
        page = await info.context.service.list_orders_by_user(user_id, page_size=page_size, page_token=page_token)
        return cast(OrderPage, page)

    @field(description=f"Order lines by ascending id: `limit`, but no more than {LINES_A_PAGE} a page.")
    async def order_lines(self, info: Info, after_line_id: Long = _ZERO, limit: Long = _ZERO) -> list[JoinedOrderLine]:
        asked = min(limit, LINES_A_PAGE) if limit <= LONGEST_STREAM else limit
        chunks = info.context.service.stream_order_lines(after_line_id=after_line_id, limit=asked)
        # Closed even when the caller's time runs out in the middle: it holds a database connection.
        async with aclosing(chunks):
            return [cast(JoinedOrderLine, line) async for chunk in chunks for line in chunk]


@strawberry.type
class Mutation:
    """What can be changed."""

    @field(description="Buys; idempotent by user and key.")
    async def checkout(
        self, info: Info, user_id: Long, lines: list[CheckoutLineInput], payment_token: str, idempotency_key: str
    ) -> Order:
        order = await info.context.service.checkout(
            user_id=user_id,
            lines=[values.CheckoutLine(line.product_id, line.quantity) for line in lines],
            payment_token=payment_token,
            idempotency_key=idempotency_key,
        )
        return cast(Order, order)

    @field(description="Moves an order along CONFIRMED, SHIPPED, DELIVERED.")
    async def update_order_status(self, info: Info, id: Long, status: OrderStatus) -> Order:  # noqa: A002
        return cast(Order, await info.context.service.update_order_status(id, status))

    @field(description="Cancels a CONFIRMED order; idempotent.")
    async def cancel_order(self, info: Info, id: Long) -> Order:  # noqa: A002
        return cast(Order, await info.context.service.cancel_order(id))


def build_app(service: OrderService, incoming: Incoming) -> Endpoint:
    """Returns the orders' GraphQL application."""
    return graphql_app(Schema(query=Query, mutation=Mutation), service, incoming)
