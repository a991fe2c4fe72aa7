"""Orders over Thrift: for each method whom it admits, what it does, and what it answers with."""

from __future__ import annotations

from typing import Any

from shop.clients.ports import Page
from shop.messages.order import STATUSES
from shop.messages.structs import joined_struct, order_struct
from shop.order.service import OrderService
from shop.platform.access.rules import Access, is_privileged, require_owner, visible
from shop.platform.thrift.processor import Method, Processor, collected, rows
from shop.stubs.thrift import OrderService as OrderServiceStubs
from shop.stubs.thrift import ttypes as t
from shop.values.order import CheckoutLine, Order, OrderStatus


def processor(service: OrderService) -> Processor:
    """Returns what answers the messages about orders."""

    async def checkout(request: Any) -> Order:
        require_owner(request.user_id)
        return await service.checkout(
            user_id=request.user_id,
            lines=[CheckoutLine(line.product_id, line.quantity) for line in request.lines],
            payment_token=request.payment_token,
            idempotency_key=request.idempotency_key,
        )

    async def get(request: Any) -> Order:
        return visible("order", await service.get_order(request.id))

    async def of_user(request: Any) -> Page[Order]:
        require_owner(request.user_id)
        return await service.list_orders_by_user(
            request.user_id, page_size=request.page_size, page_token=request.page_token
        )

    async def cancel(request: Any) -> Order:
        if not is_privileged():
            visible("order", await service.get_order(request.id))
        return await service.cancel_order(request.id)

    return Processor(
        OrderServiceStubs,
        {
            "Checkout": Method(Access.CALLER, checkout, order_struct),
            "GetOrder": Method(Access.CALLER, get, order_struct),
            "BatchGetOrders": Method(
                Access.PARTNER,
                lambda r: service.batch_get_orders(r.ids),
                lambda orders: t.BatchGetOrdersResponse([order_struct(one) for one in orders]),
            ),
            "ListOrdersByUser": Method(
                Access.CALLER,
                of_user,
                lambda page: t.ListOrdersByUserResponse(
                    [order_struct(one) for one in page.items], page.next_page_token
                ),
            ),
            "UpdateOrderStatus": Method(
                Access.PARTNER,
                # A number that the contract does not know is refused as a status that no order is moved to.
                lambda r: service.update_order_status(r.id, STATUSES.get(r.status, OrderStatus.PENDING)),
                order_struct,
            ),
            "CancelOrder": Method(Access.CALLER, cancel, order_struct),
            "StreamOrderLines": Method(
                Access.PARTNER,
                lambda r: collected(service.stream_order_lines(after_line_id=r.after_line_id, limit=rows(r.limit))),
                lambda lines: t.StreamOrderLinesResponse([joined_struct(line) for line in lines]),
            ),
        },
    )
