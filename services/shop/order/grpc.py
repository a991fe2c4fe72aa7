"""The order service over gRPC: decodes requests, calls the service, encodes answers."""

# ruff: noqa: N802, ARG002 - the methods have the contract's names and gRPC's arguments

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, TypeAlias

from google.protobuf.timestamp_pb2 import Timestamp
from grpc.aio import Server, ServicerContext

from shop.messages.order import STATUS_NUMBERS, STATUSES
from shop.messages.shared import money_message
from shop.order.service import OrderService
from shop.platform.access.rules import Access, admits, is_privileged, require_owner, visible
from shop.stubs import order_pb2, order_pb2_grpc
from shop.values.order import CheckoutLine, JoinedOrderLine, Order, OrderStatus

Context: TypeAlias = "ServicerContext[Any, Any]"


class OrderServicer(order_pb2_grpc.OrderServiceServicer):
    """Serves `shop.order.v1.OrderService`; the server's interceptors turn errors into statuses."""

    def __init__(self, service: OrderService) -> None:
        self._service = service

    @admits(Access.CALLER)
    async def Checkout(self, request: order_pb2.CheckoutRequest, context: Context) -> order_pb2.Order:
        require_owner(request.user_id)
        order = await self._service.checkout(
            user_id=request.user_id,
            lines=[CheckoutLine(line.product_id, line.quantity) for line in request.lines],
            payment_token=request.payment_token,
            idempotency_key=request.idempotency_key,
        )
        return _encode(order)

    @admits(Access.CALLER)
    async def GetOrder(self, request: order_pb2.GetOrderRequest, context: Context) -> order_pb2.Order:
        return _encode(visible("order", await self._service.get_order(request.id)))

    @admits(Access.PARTNER)
    async def BatchGetOrders(
        self, request: order_pb2.BatchGetOrdersRequest, context: Context
    ) -> order_pb2.BatchGetOrdersResponse:
        orders = await self._service.batch_get_orders(request.ids)
        return order_pb2.BatchGetOrdersResponse(orders=[_encode(order) for order in orders])

    @admits(Access.CALLER)
    async def ListOrdersByUser(
        self, request: order_pb2.ListOrdersByUserRequest, context: Context
    ) -> order_pb2.ListOrdersByUserResponse:
        require_owner(request.user_id)
        page = await self._service.list_orders_by_user(
            request.user_id, page_size=request.page_size, page_token=request.page_token
        )
        return order_pb2.ListOrdersByUserResponse(
            orders=[_encode(order) for order in page.items], next_page_token=page.next_page_token
        )

    @admits(Access.PARTNER)
    async def UpdateOrderStatus(self, request: order_pb2.UpdateOrderStatusRequest, context: Context) -> order_pb2.Order:
        # A number that the contract does not know, 0 included, is refused as a status that no order is moved to.
        status = STATUSES.get(request.status, OrderStatus.PENDING)
        return _encode(await self._service.update_order_status(request.id, status))

    @admits(Access.CALLER)
    async def CancelOrder(self, request: order_pb2.CancelOrderRequest, context: Context) -> order_pb2.Order:
        if not is_privileged():
            visible("order", await self._service.get_order(request.id))
        return _encode(await self._service.cancel_order(request.id))

    @admits(Access.PARTNER)
    async def StreamOrderLines(
        self, request: order_pb2.StreamOrderLinesRequest, context: Context
    ) -> AsyncIterator[order_pb2.StreamOrderLinesResponse]:
        chunks = self._service.stream_order_lines(after_line_id=request.after_line_id, limit=request.limit)
        # Closed even when the caller goes away in the middle: it holds a database connection.
        async with aclosing(chunks):
            async for lines in chunks:
                yield order_pb2.StreamOrderLinesResponse(lines=[_joined(line) for line in lines])


def register(server: Server, service: OrderService) -> list[str]:
    """Adds the service to a server and returns the full names of what was added, for health and reflection."""
    order_pb2_grpc.add_OrderServiceServicer_to_server(OrderServicer(service), server)
    return [order_pb2.DESCRIPTOR.services_by_name["OrderService"].full_name]


def _encode(order: Order) -> order_pb2.Order:
    return order_pb2.Order(
        id=order.id,
        user_id=order.user_id,
        status=STATUS_NUMBERS[order.status],
        create_time=Timestamp(seconds=int(order.placed_at.timestamp())),
        total=money_message(order.total),
        lines=[
            order_pb2.OrderLine(
                id=line.id,
                line_number=line.line_number,
                product_id=line.product_id,
                quantity=line.quantity,
                unit_price=money_message(line.unit_price),
            )
            for line in order.lines
        ],
    )


def _joined(line: JoinedOrderLine) -> order_pb2.JoinedOrderLine:
    return order_pb2.JoinedOrderLine(
        id=line.id,
        order_id=line.order_id,
        user_id=line.user_id,
        status=STATUS_NUMBERS[line.status],
        create_time=Timestamp(seconds=int(line.placed_at.timestamp())),
        product_id=line.product_id,
        quantity=line.quantity,
        unit_price=money_message(line.unit_price),
    )
