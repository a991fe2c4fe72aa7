"""Orders and the checkout: `/v1/orders`, `/v1/users/{user_id}/orders`."""

from __future__ import annotations

from fastapi import FastAPI

from rest_gateway.order_related import INCLUDES, Include, with_related
from shop.contract.ports import Clients, Orders
from shop.platform.http.caching import PERSONAL
from shop.platform.parallel import both
from shop.platform.rest.answers import Answer, ok
from shop.platform.rest.openapi import reading
from shop.platform.rest.parameters import (
    OrderId,
    OrderIds,
    PageSize100,
    PageToken,
    UserId,
    parse_fields,
    parse_ids,
    parse_include,
)
from shop.platform.rest.requests import RestCall
from shop.resources.orders import add_order_changes
from shop.resources.response_bodies import OrderDocument, OrderFields, OrderList, OrderPage, order_document
from shop.values.payment import Payment


def add_orders(api: FastAPI, shop: Clients) -> None:
    orders = shop.order

    @api.api_route(**reading("orders", Orders.get_order, problems=[404]))
    async def get_order(
        call: RestCall, order_id: OrderId, include: Include = "", fields: OrderFields = ""
    ) -> Answer[OrderDocument]:
        """One order: a customer's own, any for partners."""
        mask = parse_fields(fields, OrderDocument)
        asked = parse_include(include, INCLUDES)
        payments: list[Payment] = []
        if "payment" in asked:
            reading = shop.payment.batch_get_payments_by_order([order_id])
            order, payments = await both(orders.get_order(order_id), reading)
        else:
            order = await orders.get_order(order_id)
        payment = payments[0] if payments else None
        rest = asked - {"payment"}
        if not rest:
            return ok(call, order_document(order, payment), PERSONAL, mask)
        [related] = await with_related(shop, [order], rest)
        return ok(call, order_document(order, payment, related.user, related.products), PERSONAL, mask)

    @api.api_route(**reading("orders", Orders.batch_get_orders))
    async def batch_get_orders(call: RestCall, ids: OrderIds, include: Include = "") -> Answer[OrderList]:
        """Many orders, in the order of the requested ids; unknown ids are left out; for partners."""
        asked = parse_include(include, INCLUDES)
        listed = await orders.batch_get_orders(parse_ids(ids, "ids"))
        return ok(call, OrderList(await with_related(shop, listed, asked)), PERSONAL)

    @api.api_route(**reading("orders", Orders.list_orders_by_user))
    async def list_orders_of_user(
        call: RestCall,
        user_id: UserId,
        page_size: PageSize100 = 10,
        page_token: PageToken = "",
        include: Include = "",
        fields: OrderFields = "",
    ) -> Answer[OrderPage]:
        """A page of one user's orders, newest first: a customer's own, any for partners."""
        mask = parse_fields(fields, OrderDocument)
        asked = parse_include(include, INCLUDES)
        page = await orders.list_orders_by_user(user_id, page_size=page_size, page_token=page_token)
        listed = await with_related(shop, page.items, asked)
        return ok(call, OrderPage(listed, page.next_page_token), PERSONAL, mask)

    add_order_changes(api, orders)
