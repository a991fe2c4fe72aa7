"""Changes of orders, the same in the order service and in a gateway: `/v1/orders`."""

from __future__ import annotations

from fastapi import FastAPI

from shop.contract.ports import Orders
from shop.errors import FailedPrecondition, changed_since
from shop.platform.rest.answers import Answer, answer_changed, answer_created, as_read
from shop.platform.rest.openapi import changing, creating
from shop.platform.rest.parameters import IdempotencyKey, IfMatch, OrderId
from shop.resources.bodies import OrderDocument, order_document
from shop.resources.received import NewOrder, OrderChange
from shop.values.order import STATUS_BEFORE, CheckoutLine, OrderStatus, refused_move


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
