"""Orders as a gRPC client sees them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import grpc.aio

from shop.clients.ports import Page
from shop.messages.order import STATUS_NUMBERS, joined_from, order_from
from shop.messages.shared import build
from shop.platform.grpc.client import Peer
from shop.stubs import order_pb2 as pb
from shop.stubs import order_pb2_grpc
from shop.values.order import CheckoutLine, JoinedOrderLine, Order, OrderStatus


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
        return order_from(await self._peer.unary(self._stub.Checkout, "Checkout", request))

    async def get_order(self, order_id: int) -> Order:
        request = build(pb.GetOrderRequest, id=order_id)
        return order_from(await self._peer.unary(self._stub.GetOrder, "GetOrder", request))

    async def batch_get_orders(self, ids: Sequence[int]) -> list[Order]:
        request = build(pb.BatchGetOrdersRequest, ids=ids)
        response = await self._peer.unary(self._stub.BatchGetOrders, "BatchGetOrders", request)
        return [order_from(order) for order in response.orders]

    async def list_orders_by_user(self, user_id: int, *, page_size: int = 0, page_token: str = "") -> Page[Order]:
        request = build(pb.ListOrdersByUserRequest, user_id=user_id, page_size=page_size, page_token=page_token)
        response = await self._peer.unary(self._stub.ListOrdersByUser, "ListOrdersByUser", request)
        return Page(tuple(order_from(order) for order in response.orders), response.next_page_token)

    async def update_order_status(self, order_id: int, status: OrderStatus) -> Order:
        request = build(pb.UpdateOrderStatusRequest, id=order_id, status=STATUS_NUMBERS[status])
        return order_from(await self._peer.unary(self._stub.UpdateOrderStatus, "UpdateOrderStatus", request))

    async def cancel_order(self, order_id: int) -> Order:
        request = build(pb.CancelOrderRequest, id=order_id)
        return order_from(await self._peer.unary(self._stub.CancelOrder, "CancelOrder", request))

    async def stream_order_lines(self, *, after_line_id: int = 0, limit: int = 0) -> AsyncIterator[JoinedOrderLine]:
        request = build(pb.StreamOrderLinesRequest, after_line_id=after_line_id, limit=limit)
        async for chunk in self._peer.stream(self._stub.StreamOrderLines, "StreamOrderLines", request):
            for line in chunk.lines:
                yield joined_from(line)
