"""Payments: `/v1/payments`."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.responses import Response

from shop.clients import Clients
from shop.errors import NotFound
from shop.platform.access import Access, may_see, sees_all
from shop.platform.parallel import both
from shop.platform.rest.answers import found
from shop.platform.rest.caching import PERSONAL
from shop.platform.rest.call import Call
from shop.platform.rest.operations import reading
from shop.platform.rest.parameters import OrderIdsOfPayments, PaymentId, parse_ids
from shop.resources.documents import payment_document
from shop.resources.models import orders as models


def add_payments(api: FastAPI, shop: Clients) -> None:
    """Declares the routes of payments.

    Args:
        api: Where to declare them.
        shop: The services.
    """
    payments = shop.payment

    @api.get("/v1/payments", **reading("payments", models.PaymentList, access=Access.CALLER))
    async def list_payments(call: Call, order_ids: OrderIdsOfPayments) -> Response:
        """The payments of many orders; a customer's own, any for partners. Others are left out as unknown ones are."""
        ids = parse_ids(order_ids, "order_ids")
        if sees_all():
            listed = await payments.batch_get_payments_by_order(ids)
        else:
            listed, orders = await both(payments.batch_get_payments_by_order(ids), shop.order.batch_get_orders(ids))
            own = {order.id for order in orders if may_see(order.user_id)}
            listed = [payment for payment in listed if payment.order_id in own]
        return found(call, {"payments": [payment_document(payment) for payment in listed]}, PERSONAL)

    @api.get("/v1/payments/{payment_id}", **reading("payments", models.Payment, access=Access.CALLER, problems=[404]))
    async def get_payment(call: Call, payment_id: PaymentId) -> Response:
        """One payment: of a customer's own order, any for partners."""
        payment = await payments.get_payment(payment_id)
        if not sees_all():
            orders = await shop.order.batch_get_orders([payment.order_id]) if payment.order_id else []
            if not any(may_see(order.user_id) for order in orders):
                raise NotFound(f"there is no payment {payment_id}", field="id")
        return found(call, payment_document(payment), PERSONAL)
