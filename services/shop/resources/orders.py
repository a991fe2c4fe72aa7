"""Changes of orders and the bulk read of their lines, the same in the order service and in a gateway."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from fastapi import FastAPI

from shop.contract.ports import OrderClient, Orders
from shop.errors import FailedPrecondition, changed_since
from shop.platform.http.caching import PERSONAL
from shop.platform.rest.answers import Answer, answer_changed, answer_created, as_read, ok
from shop.platform.rest.openapi import changing, creating, reading
from shop.platform.rest.parameters import AfterLineId, IdempotencyKey, IfMatch, OrderId, PageSize10000, PageToken
from shop.platform.rest.requests import RestCall
from shop.resources.pages import next_token, start
from shop.resources.request_bodies import NewOrder, OrderChange
from shop.resources.response_bodies import OrderDocument, OrderLinesPage, order_document
from shop.values.order import STATUS_BEFORE, CheckoutLine, JoinedOrderLine, OrderStatus, refused_move

_LINES = "order-lines"
"""Scope of the page tokens of the bulk read."""


def add_order_changes(api: FastAPI, orders: Orders) -> None:
    @api.api_route(**creating("orders", Orders.checkout, problems=[402, 404, 409, 422]))
    async def create_order(order: NewOrder, idempotency_key: IdempotencyKey) -> Answer[OrderDocument]:
        """Buys: a customer for itself, a partner for any user. Either everything is bought and paid, or nothing."""
        bought = await orders.checkout(
            user_id=order.user_id,
            lines=[CheckoutLine(line.product_id, line.quantity) for line in order.lines],
            payment_token=order.payment_token,
            idempotency_key=idempotency_key,
        )
        return answer_created(order_document(bought), f"/v1/orders/{bought.id}")

    @api.api_route(**changing("orders", Orders.update_order_status, problems=[409, 412]))
    async def update_order(order_id: OrderId, change: OrderChange, if_match: IfMatch = None) -> Answer[OrderDocument]:
        """Moves an order one step along CONFIRMED, SHIPPED, DELIVERED; for partners."""
        wanted = OrderStatus(change.status)
        expected = await as_read(if_match, lambda: orders.get_order(order_id))
        if expected is None:
            return answer_changed(order_document(await orders.update_order_status(order_id, wanted)))
        # Only the status of an order can change, and the statement moves an order from only one status.
        if expected.status is not STATUS_BEFORE[wanted]:
            raise refused_move(order_id, expected.status, wanted)
        try:
            return answer_changed(order_document(await orders.update_order_status(order_id, wanted)))
        except FailedPrecondition as error:
            raise changed_since("order", order_id) from error

    @api.api_route(**changing("orders", Orders.cancel_order, problems=[409], body=False))
    async def cancel_order(order_id: OrderId) -> Answer[OrderDocument]:
        """Cancels a CONFIRMED order and gives stock and money back: a customer's own, any for partners."""
        return answer_changed(order_document(await orders.cancel_order(order_id)))


def add_order_lines(api: FastAPI, stream: Callable[..., AsyncIterator[JoinedOrderLine]], page_token_key: bytes) -> None:
    @api.api_route(**reading("order lines", OrderClient.stream_order_lines))
    async def list_order_lines(
        call: RestCall, after_line_id: AfterLineId = 0, page_size: PageSize10000 = 1000, page_token: PageToken = ""
    ) -> Answer[OrderLinesPage]:
        """A page of the lines of all orders, by ascending id, joined with their orders; for partners.

        Start anywhere with `after_line_id`, continue with `page_token`. Checkouts that run at the same time may store a
        line after lines with greater ids. So an export that continues an earlier one should begin 10,000 ids before
        its end, and skip the lines that it already has.
        """
        after = start(_LINES, page_token, "after_line_id", after_line_id, page_token_key)
        lines = [line async for line in stream(after_line_id=after, limit=page_size)]
        token = next_token(_LINES, lines, page_size, lambda line: line.id, page_token_key)
        return ok(call, OrderLinesPage(lines, token), PERSONAL)
