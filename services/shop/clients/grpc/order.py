"""Orders as a gRPC client sees them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime

import grpc.aio

from shop.clients.ports import Page
from shop.messages.shared import build, money_from
from shop.platform.grpc.client import Peer
from shop.stubs import order_pb2 as pb
from shop.stubs import order_pb2_grpc
from shop.values.order import CheckoutLine, JoinedOrderLine, Order, OrderLine, OrderStatus

_STATUSES = {status: pb.OrderStatus.Value(f"ORDER_STATUS_{status.value}") for status in OrderStatus}
_STATUSES_BACK = {number: status for status, number in _STATUSES.items()}


class GrpcOrderClient:
    """`shop.clients.ports.OrderClient` over gRPC."""

    def __init__(self, peer: Peer, channel: grpc.aio.Channel) -> None:
        self._peer = peer
        self._stub = order_pb2_grpc.OrderServiceStub(channel)

    async def checkout(
        self, *, user_id: int, lines: Sequence[CheckoutLine], payment_token: str, idempotency_key: str
    ) -> Order:
        messages = [
            build(pb.CheckoutLine, f"lines[{index}].", product_id=line.product_id, quantity=line.quantity)
            for index, line in enumerate(lines)
        ]
        request = build(
            pb.CheckoutRequest,
            user_id=user_id,
            lines=messages,
            payment_token=payment_token,
            idempotency_key=idempotency_key,
        )
        return _order(await self._peer.unary(self._stub.Checkout, "Checkout", request))

    async def get_order(self, order_id: int) -> Order:
        request = build(pb.GetOrderRequest, id=order_id)
        return _order(await self._peer.unary(self._stub.GetOrder, "GetOrder", request))

    async def batch_get_orders(self, ids: Sequence[int]) -> list[Order]:
        request = build(pb.BatchGetOrdersRequest, ids=ids)
        response = await self._peer.unary(self._stub.BatchGetOrders, "BatchGetOrders", request)
        return [_order(order) for order in response.orders]

    async def list_orders_by_user(self, user_id: int, *, page_size: int = 0, page_token: str = "") -> Page[Order]:
        request = build(pb.ListOrdersByUserRequest, user_id=user_id, page_size=page_size, page_token=page_token)
        response = await self._peer.unary(self._stub.ListOrdersByUser, "ListOrdersByUser", request)
        return Page(tuple(_order(order) for order in response.orders), response.next_page_token)

    async def update_order_status(self, order_id: int, status: OrderStatus) -> Order:
        request = build(pb.UpdateOrderStatusRequest, id=order_id, status=_STATUSES[status])
        return _order(await self._peer.unary(self._stub.UpdateOrderStatus, "UpdateOrderStatus", request))

    async def cancel_order(self, order_id: int) -> Order:
        request = build(pb.CancelOrderRequest, id=order_id)
        return _order(await self._peer.unary(self._stub.CancelOrder, "CancelOrder", request))

    async def stream_order_lines(self, *, after_line_id: int = 0, limit: int = 0) -> AsyncIterator[JoinedOrderLine]:
        request = build(pb.StreamOrderLinesRequest, after_line_id=after_line_id, limit=limit)
        async for chunk in self._peer.stream(self._stub.StreamOrderLines, "StreamOrderLines", request):
            for line in chunk.lines:
                yield _joined(line)


def _order(message: pb.Order) -> Order:
    lines = tuple(
        OrderLine(line.id, line.line_number, line.product_id, line.quantity, money_from(line.unit_price))
        for line in message.lines
    )
    return Order(
        message.id,
        message.user_id,
        _STATUSES_BACK[message.status],
        datetime.fromtimestamp(message.create_time.seconds, UTC),
        money_from(message.total),
        lines,
    )


def _joined(message: pb.JoinedOrderLine) -> JoinedOrderLine:
    return JoinedOrderLine(
        message.id,
        message.order_id,
        message.user_id,
        _STATUSES_BACK[message.status],
        datetime.fromtimestamp(message.create_time.seconds, UTC),
        message.product_id,
        message.quantity,
        money_from(message.unit_price),
    )
