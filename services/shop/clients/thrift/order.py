"""Orders as a Thrift client sees them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from shop.clients.pages import pages
from shop.clients.ports import Page
from shop.clients.thrift.channel import ThriftPeer
from shop.messages.order import STATUS_NUMBERS, joined_from, order_from
from shop.platform.thrift.encoding import MOST_ROWS, build
from shop.stubs.thrift import ttypes as t
from shop.values.order import CheckoutLine, JoinedOrderLine, Order, OrderStatus


class ThriftOrderClient:
    """`shop.clients.ports.OrderClient` over Thrift."""

    def __init__(self, peer: ThriftPeer) -> None:
        self._call = peer.call

    async def checkout(
        self, *, user_id: int, lines: Sequence[CheckoutLine], payment_token: str, idempotency_key: str
    ) -> Order:
        structs = [
            build(t.CheckoutLine, f"lines[{index}].", product_id=line.product_id, quantity=line.quantity)
            for index, line in enumerate(lines)
        ]
        request = build(
            t.CheckoutRequest,
            user_id=user_id,
            lines=structs,
            payment_token=payment_token,
            idempotency_key=idempotency_key,
        )
        return order_from(await self._call("Checkout", request))

    async def get_order(self, order_id: int) -> Order:
        return order_from(await self._call("GetOrder", build(t.GetOrderRequest, id=order_id)))

    async def batch_get_orders(self, ids: Sequence[int]) -> list[Order]:
        response = await self._call("BatchGetOrders", build(t.BatchGetOrdersRequest, ids=list(ids)))
        return [order_from(order) for order in response.orders]

    async def list_orders_by_user(self, user_id: int, *, page_size: int = 0, page_token: str = "") -> Page[Order]:
        request = build(t.ListOrdersByUserRequest, user_id=user_id, page_size=page_size, page_token=page_token)
        response = await self._call("ListOrdersByUser", request)
        return Page(tuple(order_from(order) for order in response.orders), response.next_page_token)

    async def update_order_status(self, order_id: int, status: OrderStatus) -> Order:
        request = build(t.UpdateOrderStatusRequest, id=order_id, status=STATUS_NUMBERS[status])
        return order_from(await self._call("UpdateOrderStatus", request))

    async def cancel_order(self, order_id: int) -> Order:
        return order_from(await self._call("CancelOrder", build(t.CancelOrderRequest, id=order_id)))

    async def stream_order_lines(self, *, after_line_id: int = 0, limit: int = 0) -> AsyncIterator[JoinedOrderLine]:
        async def page(after: int, size: int) -> list[JoinedOrderLine]:
            request = build(t.StreamOrderLinesRequest, after_line_id=after, limit=size)
            return [joined_from(line) for line in (await self._call("StreamOrderLines", request)).lines]

        async for line in pages(page, after_line_id, limit, largest=MOST_ROWS, id_of=lambda line: line.id):
            yield line
