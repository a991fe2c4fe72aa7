"""Orders over REST: decodes requests, calls the use cases, encodes the answers.

`shop.resources.orders` has the routes that gateways serve as well.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

from fastapi import FastAPI

from shop.contract.ports import Orders
from shop.order.service import OrderService
from shop.platform.http.caching import PERSONAL
from shop.platform.incoming import Incoming
from shop.platform.page_token import DEFAULT_KEY
from shop.platform.rest.answers import Answer, ok
from shop.platform.rest.app import add_docs
from shop.platform.rest.openapi import reading
from shop.platform.rest.parameters import OrderId, OrderIds, PageSize100, PageToken, UserId, parse_fields, parse_ids
from shop.platform.rest.requests import RestCall
from shop.resources.orders import add_order_changes, add_order_lines
from shop.resources.response_bodies import OrderDocument, OrderFields, OrderList, OrderPage, order_document
from shop.resources.service_api import service_api
from shop.values.order import JoinedOrderLine

TAGS = {"orders": "Checkout, reads and status changes of orders.", "order lines": "Bulk read for partners."}


def build_app(service: OrderService, incoming: Incoming, page_token_key: bytes = DEFAULT_KEY) -> FastAPI:
    api = service_api("order", "Orders and the checkout", TAGS, incoming)

    @api.api_route(**reading("orders", Orders.get_order, problems=[404]))
    async def get_order(call: RestCall, order_id: OrderId, fields: OrderFields = "") -> Answer[OrderDocument]:
        """One order: a customer's own, any for partners."""
        mask = parse_fields(fields, OrderDocument)
        return ok(call, order_document(await service.get_order(order_id)), PERSONAL, mask)

    @api.api_route(**reading("orders", Orders.batch_get_orders))
    async def batch_get_orders(call: RestCall, ids: OrderIds) -> Answer[OrderList]:
        """Many orders, in the order of the requested ids; unknown ids are left out; for partners."""
        orders = await service.batch_get_orders(parse_ids(ids, "ids"))
        return ok(call, OrderList([order_document(order) for order in orders]), PERSONAL)

    @api.api_route(**reading("orders", Orders.list_orders_by_user))
    async def list_orders_of_user(
        call: RestCall,
        user_id: UserId,
        page_size: PageSize100 = 10,
        page_token: PageToken = "",
        fields: OrderFields = "",
    ) -> Answer[OrderPage]:
        """A page of one user's orders, newest first: a customer's own, any for partners."""
        mask = parse_fields(fields, OrderDocument)
        page = await service.list_orders_by_user(user_id, page_size=page_size, page_token=page_token)
        orders = [order_document(order) for order in page.items]
        return ok(call, OrderPage(orders, page.next_page_token), PERSONAL, mask)

    add_order_changes(api, service)

    async def lines(*, after_line_id: int = 0, limit: int = 0) -> AsyncIterator[JoinedOrderLine]:
        async with aclosing(service.stream_order_lines(after_line_id=after_line_id, limit=limit)) as chunks:
            async for chunk in chunks:
                for line in chunk:
                    yield line

    add_order_lines(api, lines, page_token_key)
    add_docs(api)
    return api
