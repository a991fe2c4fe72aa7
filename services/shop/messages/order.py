"""Converts the messages of orders to value types, for clients, and has the numbers of their statuses."""

from __future__ import annotations

from datetime import UTC, datetime

from shop.messages.shared import money_from
from shop.stubs import order_pb2 as pb
from shop.values.order import JoinedOrderLine, Order, OrderLine, OrderStatus

STATUS_NUMBERS = {status: pb.OrderStatus.Value(f"ORDER_STATUS_{status.value}") for status in OrderStatus}
STATUSES = {number: status for status, number in STATUS_NUMBERS.items()}


def order_from(message: pb.Order) -> Order:
    lines = tuple(
        OrderLine(line.id, line.line_number, line.product_id, line.quantity, money_from(line.unit_price))
        for line in message.lines
    )
    return Order(
        message.id,
        message.user_id,
        STATUSES[message.status],
        datetime.fromtimestamp(message.create_time.seconds, UTC),
        money_from(message.total),
        lines,
    )


def joined_from(message: pb.JoinedOrderLine) -> JoinedOrderLine:
    return JoinedOrderLine(
        message.id,
        message.order_id,
        message.user_id,
        STATUSES[message.status],
        datetime.fromtimestamp(message.create_time.seconds, UTC),
        message.product_id,
        message.quantity,
        money_from(message.unit_price),
    )
