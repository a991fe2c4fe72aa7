"""Orders, their lines, and the checkout."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, cast

import strawberry

from graphql_gateway.connection import Connection, Edge, checked_first, connection_of
from graphql_gateway.context import GatewayInfo
from graphql_gateway.global_id import global_id, number_of, split_global_id
from graphql_gateway.node import Node, existing
from graphql_gateway.product import KNOWN, Product
from graphql_gateway.reads import Reads
from graphql_gateway.selection import asked, asks_only, only
from graphql_gateway.user import User, user_of
from shop.errors import InvalidArgument, no_such
from shop.order.domain import CheckoutLine, JoinedOrderLine, OrderStatus
from shop.order.domain import Order as ShopOrder
from shop.order.domain import OrderLine as ShopOrderLine
from shop.platform.graphql.field import computed, field, later
from shop.platform.graphql.money import Money
from shop.platform.graphql.scalars import Moment

if TYPE_CHECKING:
    from graphql_gateway.payment import Payment

MOST_LINES = 1000
_KNOWN_BY_ID = frozenset({"__typename", "id", "payment"})
_KNOWN_BY_LINE = _KNOWN_BY_ID | {"status", "placedAt", "user"}

strawberry.enum(OrderStatus, description="How far an order has come.")


@strawberry.type(description="One product of an order.")
class OrderLine:
    """A line; those of the bulk read know of their order only what comes with them."""

    id: strawberry.ID
    quantity: int = strawberry.field(description="Pieces.")
    unit_price: Money = strawberry.field(description="Of one piece when it was bought.")
    line_id: strawberry.Private[int]
    place: strawberry.Private[int | None]
    product_number: strawberry.Private[int]
    parent: strawberry.Private[Order]

    @classmethod
    def of(cls, line: ShopOrderLine | JoinedOrderLine, parent: Order, place: int | None) -> OrderLine:
        """Returns the service's line as a GraphQL object.

        Args:
            line: The line.
            parent: The order that it belongs to, or what is known of it.
            place: Its number in the order, if known.
        """
        return cls(
            id=strawberry.ID(global_id("OrderLine", line.id)),
            quantity=line.quantity,
            unit_price=cast(Money, line.unit_price),
            line_id=line.id,
            place=place,
            product_number=line.product_id,
            parent=parent,
        )

    @computed(description="Place in the order, from 1 upwards.")
    def line_number(self) -> int:
        return later(self._find_place()) if self.place is None else self.place

    @computed(description="What was bought; null if it was removed from the catalogue since.")
    def product(self) -> Product | None:
        number = self.product_number
        return later(self.parent.reads.product(number)) if self.parent.whole_products else Product.known(number)

    @field(description="The order that it belongs to.")
    def order(self, info: GatewayInfo) -> Order | None:
        if self.parent.whole or asks_only(info, _KNOWN_BY_LINE):
            note_products(info, [self.parent], "lines", "product")
            return self.parent
        return later(_prepared_order(info, self.parent.number))

    async def _find_place(self) -> int:
        order = await existing(self.parent.reads.order(self.parent.number), "order", self.parent.number)
        return next(line.place or 0 for line in order.lines if line.line_id == self.line_id)


@strawberry.type(description="What one customer bought at one time. The customer and partners only.")
class Order(Node):
    status: OrderStatus
    placed_at: Moment
    total: Money
    lines: list[OrderLine] = strawberry.field(description="By line number.")
    user_number: strawberry.Private[int]
    reads: strawberry.Private[Reads]
    whole: strawberry.Private[bool] = False
    # Whether the query asks more of the lines' products than their identifiers: `note_products` finds out.
    whole_products: strawberry.Private[bool] = False

    @classmethod
    def of(cls, order: ShopOrder, reads: Reads) -> Order:
        """Returns the service's order as a GraphQL object."""
        made = cls(
            id=strawberry.ID(global_id("Order", order.id)),
            status=order.status,
            placed_at=Moment(order.placed_at),
            total=cast(Money, order.total),
            lines=[],
            number=order.id,
            user_number=order.user_id,
            reads=reads,
            whole=True,
        )
        made.lines = [OrderLine.of(line, made, line.line_number) for line in order.lines]
        return made

    @classmethod
    def named(cls, number: int, reads: Reads) -> Order:
        """Returns one of which the query asks for no more than its identifier and payment."""
        order = cls.known(number)
        order.reads = reads
        return order

    @classmethod
    def of_line(cls, line: JoinedOrderLine, reads: Reads) -> Order:
        """Returns what a line of the bulk read knows of its order."""
        order = cls.named(line.order_id, reads)
        order.status = line.status
        order.placed_at = Moment(line.placed_at)
        order.user_number = line.user_id
        return order

    @field(description="Who bought; null if the account is gone.")
    def user(self, info: GatewayInfo) -> User | None:
        return user_of(info, self.user_number)

    @computed(description="Null until the order is paid.")
    def payment(self) -> Annotated[Payment, strawberry.lazy("graphql_gateway.payment")] | None:
        return later(self.reads.payment_of_order(self.number))


def order_of(info: GatewayInfo, number: int) -> Order | None:
    """Returns the order with this id, without a call if the query asks for no more than its id and payment."""
    if asks_only(info, _KNOWN_BY_ID):
        return Order.named(number, info.context.reads)
    return later(_prepared_order(info, number))


async def own_order(info: GatewayInfo, number: int) -> Order:
    """Returns the order with this id to whom it belongs, and to partners.

    Raises:
        Unauthenticated: There is no valid token.
        NotFound: There is none, or it is another customer's.
    """
    caller = info.context.caller
    order = await existing(info.context.reads.order(number), "order", number)
    caller.require_visible(order.user_number, no_such("order", number))
    await prepare(info, [order])
    return order


async def prepare(info: GatewayInfo, orders: list[Order], *path: str) -> None:
    """Reads what the query asks of orders that a field returns, so that their own fields have it at once.

    Args:
        info: Of the field.
        orders: The orders.
        path: GraphQL names of the fields from that one to the orders.
    """
    whole_products = note_products(info, orders, *path, "lines", "product")
    await info.context.reads.ahead(
        products=[line.product_number for order in orders for line in order.lines] if whole_products else (),
        payments_of_orders=[order.number for order in orders] if asked(info, *path, "payment") else (),
    )


def note_products(info: GatewayInfo, orders: Iterable[Order], *path: str) -> bool:
    """Notes in orders whether the query asks more of their lines' products than their identifiers, and returns it.

    Args:
        info: Of the field that returns the orders, or their lines.
        orders: The orders; what was noted before, for another part of the query, stays.
        path: GraphQL names of the fields from that one to the products.
    """
    whole_products = not only(info, asked(info, *path), KNOWN)
    if whole_products:
        for order in orders:
            order.whole_products = True
    return whole_products


async def _prepared_order(info: GatewayInfo, number: int) -> Order | None:
    order = await info.context.reads.order(number)
    if order is not None:
        await prepare(info, [order])
    return order


@strawberry.input
class CheckoutLineInput:
    """One product to buy."""

    product_id: strawberry.ID
    quantity: int = strawberry.field(description="Pieces, 1 to 1,000.")


@strawberry.input
class CheckoutInput:
    """What to buy."""

    idempotency_key: str = strawberry.field(
        description="Chosen by the client for this purchase; the same key again returns the same order."
    )
    lines: list[CheckoutLineInput] = strawberry.field(description="1 to 100 lines, each of another product.")
    payment_token: str = strawberry.field(description='Stands for the card: "tok_ok", "tok_declined".')
    user_id: strawberry.ID | None = strawberry.field(default=None, description="Who buys; with a partner's token only.")


@strawberry.input
class UpdateOrderStatusInput:
    """Where an order goes."""

    id: strawberry.ID
    status: OrderStatus = strawberry.field(description="SHIPPED or DELIVERED.")


@strawberry.input
class CancelOrderInput:
    """Which order to cancel."""

    id: strawberry.ID


@strawberry.type
class OrderPayload:
    """The order as it is now."""

    order: Order


@strawberry.type
class OrderQuery:
    """The orders' fields of `Query`."""

    @field(description="One order; NOT_FOUND if there is none. The customer and partners only.")
    async def order(self, info: GatewayInfo, id: strawberry.ID) -> Order | None:  # noqa: A002
        number = number_of(id, "Order")
        if info.context.caller and asked(info, "payment"):
            info.context.reads.expect_payment(number)
        return await own_order(info, number)

    @field(
        description=f"Lines of all orders by ascending id; `first` is 1 to {MOST_LINES}. `after` is the `id` or "
        "`cursor` of a line. Partners only."
    )
    async def order_lines(self, info: GatewayInfo, first: int = 100, after: str | None = None) -> Connection[OrderLine]:
        """Returns a page of order lines, each of which knows its order's id, status, time and user."""
        info.context.caller.require_partner()
        checked_first(first, MOST_LINES)
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
class OrderMutation:
    """The orders' fields of `Mutation`."""

    @field(description="Places an order for the token's owner; partners name the user.")
    async def checkout(self, info: GatewayInfo, input: CheckoutInput) -> OrderPayload:  # noqa: A002
        user_id = _buyer(info, input.user_id)
        lines = [
            CheckoutLine(number_of(line.product_id, "Product", f"input.lines[{place}].productId"), line.quantity)
            for place, line in enumerate(input.lines)
        ]
        order = await info.context.clients.order.checkout(
            user_id=user_id,
            lines=lines,
            payment_token=input.payment_token,
            idempotency_key=input.idempotency_key,
        )
        return await _payload(info, order)

    @field(description="Moves an order on to SHIPPED or DELIVERED. Partners only.")
    async def update_order_status(self, info: GatewayInfo, input: UpdateOrderStatusInput) -> OrderPayload:  # noqa: A002
        info.context.caller.require_partner()
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
        info.context.caller.require_owner(named, "input.userId")
    return info.context.caller.customer_id()
