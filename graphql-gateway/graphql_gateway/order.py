"""Orders, their lines, the checkout, and payments."""

from __future__ import annotations

import strawberry

from graphql_gateway.objects.connection import Connection, Edge, check_first, connection_of
from graphql_gateway.objects.entities import GatewayInfo, Order, OrderLine, Payment, existing, note_products, prepare
from graphql_gateway.objects.global_id import number_of, split_global_id
from graphql_gateway.objects.selection import find_fields
from shop.contract.ports import OrderClient, Orders, PaymentClient
from shop.errors import InvalidArgument, no_such
from shop.platform.graphql.field import field
from shop.values.order import CheckoutLine, OrderStatus
from shop.values.order import Order as ShopOrder

MAX_LINES = 1000


async def own_order(info: GatewayInfo, number: int) -> Order:
    """Returns the order with this id for its owner and partners; raises `Unauthenticated`, or `NotFound` for others."""
    info.context.admit(Orders.get_order)
    order = await existing(info.context.reads.order(number), "order", number)
    info.context.show(Orders.get_order, order.user_number, no_such("order", number))
    await prepare(info, [order])
    return order


async def own_payment(info: GatewayInfo, number: int) -> Payment:
    """Returns the payment with this id, and raises the errors of `own_order`."""
    info.context.admit(PaymentClient.get_payment)
    payment = await info.context.clients.payment.get_payment(number)
    info.context.show(PaymentClient.get_payment, payment.user_id, no_such("payment", number))
    return Payment.of(payment)


@strawberry.input
class CheckoutLineInput:
    """One product to buy."""

    product_id: strawberry.ID
    quantity: int = strawberry.field(description="Pieces, 1 to 1,000.")


@strawberry.input
class CheckoutInput:
    """The purchase."""

    idempotency_key: str = strawberry.field(
        description="Chosen by the client for this purchase; the same key again returns the same order."
    )
    lines: list[CheckoutLineInput] = strawberry.field(description="1 to 100 lines, each of another product.")
    payment_token: str = strawberry.field(description='Stands for the card: "tok_ok", "tok_declined".')
    user_id: strawberry.ID | None = strawberry.field(default=None, description="Who buys; with a partner's token only.")


@strawberry.input
class UpdateOrderStatusInput:
    """The new status of an order."""

    id: strawberry.ID
    status: OrderStatus = strawberry.field(description="SHIPPED or DELIVERED.")


@strawberry.input
class CancelOrderInput:
    """The order to cancel."""

    id: strawberry.ID


@strawberry.type
class OrderPayload:
    """The order as it is now."""

    order: Order


@strawberry.type
class OrderQuery:
    """The fields of `Query` that return orders and their lines."""

    @field(description="One order; NOT_FOUND if there is none. The customer and partners only.")
    async def order(self, info: GatewayInfo, id: strawberry.ID) -> Order | None:  # noqa: A002
        number = number_of(id, "Order")
        if info.context.caller and find_fields(info, "payment"):
            info.context.reads.expect_payment(number)
        return await own_order(info, number)

    @field(
        description=f"Lines of all orders by ascending id; `first` is 1 to {MAX_LINES}. `after` is the `id` or "
        "`cursor` of a line. Partners only."
    )
    async def order_lines(self, info: GatewayInfo, first: int = 100, after: str | None = None) -> Connection[OrderLine]:
        """Returns a page of order lines, each of which has its order's id, status, time and user."""
        info.context.admit(OrderClient.stream_order_lines)
        check_first(first, MAX_LINES)
        kind, after_line_id = split_global_id(after, "after") if after else ("OrderLine", 0)
        if kind != "OrderLine":
            raise InvalidArgument(
                f"after identifies a {kind}; an id or cursor of an OrderLine is needed", field="after"
            )
        rows = info.context.clients.order.stream_order_lines(after_line_id=after_line_id, limit=first + 1)
        lines = [OrderLine.of(row, Order.of_line(row, info.context.reads), None) async for row in rows]
        note_products(info, [line.parent for line in lines], "edges", "node", "product")
        edges = [Edge(node=line, cursor=line.id) for line in lines[:first]]
        return connection_of(edges, has_next=len(lines) > first, has_previous=after_line_id > 0)


@strawberry.type
class PaymentQuery:
    """The fields of `Query` that return payments."""

    @field(description="One payment; NOT_FOUND if there is none. The customer and partners only.")
    async def payment(self, info: GatewayInfo, id: strawberry.ID) -> Payment | None:  # noqa: A002
        return await own_payment(info, number_of(id, "Payment"))


@strawberry.type
class OrderMutation:
    """The fields of `Mutation` that create or change orders."""

    @field(description="Places an order for the token's owner; partners name the user.")
    async def checkout(self, info: GatewayInfo, input: CheckoutInput) -> OrderPayload:  # noqa: A002
        user_id = _buyer(info, input.user_id)
        lines = [
            CheckoutLine(number_of(line.product_id, "Product", f"input.lines[{place}].productId"), line.quantity)
            for place, line in enumerate(input.lines)
        ]
        order = await info.context.clients.order.checkout(
            user_id=user_id, lines=lines, payment_token=input.payment_token, idempotency_key=input.idempotency_key
        )
        return await _payload(info, order)

    @field(description="Moves an order on to SHIPPED or DELIVERED. Partners only.")
    async def update_order_status(self, info: GatewayInfo, input: UpdateOrderStatusInput) -> OrderPayload:  # noqa: A002
        info.context.admit(Orders.update_order_status)
        number = number_of(input.id, "Order", "input.id")
        return await _payload(info, await info.context.clients.order.update_order_status(number, input.status))

    @field(description="Cancels a CONFIRMED order. The customer and partners only.")
    async def cancel_order(self, info: GatewayInfo, input: CancelOrderInput) -> OrderPayload:  # noqa: A002
        number = number_of(input.id, "Order", "input.id")
        if not info.context.caller.is_privileged:
            await own_order(info, number)
        return await _payload(info, await info.context.clients.order.cancel_order(number))


async def _payload(info: GatewayInfo, order: ShopOrder) -> OrderPayload:
    shown = Order.of(order, info.context.reads)
    await prepare(info, [shown], "order")
    return OrderPayload(order=shown)


def _buyer(info: GatewayInfo, user_id: strawberry.ID | None) -> int:
    named = None if user_id is None else number_of(user_id, "User", "input.userId")
    if info.context.caller.is_privileged:
        if named is None:
            raise InvalidArgument("a partner must give the buyer's id", field="input.userId")
        return named
    if named is not None:
        info.context.admit(Orders.checkout, named, "input.userId")
    return info.context.caller.customer_id()
