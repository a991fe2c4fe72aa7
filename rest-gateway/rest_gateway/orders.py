"""Orders and the checkout: `/v1/orders`, `/v1/users/{user_id}/orders`."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.responses import Response

from rest_gateway.order_related import INCLUDES, Include, get_order_and_payment, with_related
from shop.clients import CheckoutLine, Clients, Order, OrderStatus
from shop.errors import NotFound
from shop.platform.access import Access, may_see, require_owner, sees_all
from shop.platform.rest.answers import changed, content_of, created, found
from shop.platform.rest.caching import PERSONAL, check_if_match
from shop.platform.rest.call import Call
from shop.platform.rest.operations import changing, creating, reading
from shop.platform.rest.parameters import (
    IdempotencyKey,
    IfMatch,
    OrderId,
    OrderIds,
    PageSize100,
    PageToken,
    UserId,
    parse_ids,
    parse_include,
)
from shop.resources.documents import order_document
from shop.resources.models import orders as models


def add_orders(api: FastAPI, shop: Clients) -> None:
    """Declares the routes of orders.

    Args:
        api: Where to declare them.
        shop: The services.
    """
    orders = shop.order

    @api.get("/v1/orders/{order_id:name}", **reading("orders", models.Order, access=Access.CALLER, problems=[404]))
    async def get_order(call: Call, order_id: OrderId, include: Include = "") -> Response:
        """One order: a customer's own, any for partners."""
        asked = parse_include(include, INCLUDES)
        payment = None
        if "payment" in asked:
            order, payment = await get_order_and_payment(shop, order_id)
        else:
            order = await orders.get_order(order_id)
        _check_owner(order)
        rest = asked - {"payment"}
        if not rest:
            return found(call, order_document(order, payment), PERSONAL)
        [related] = await with_related(shop, [order], rest)
        return found(call, order_document(order, payment, related.user, related.products), PERSONAL)

    @api.get("/v1/orders", **reading("orders", models.OrderList, access=Access.PARTNER))
    async def batch_get_orders(call: Call, ids: OrderIds, include: Include = "") -> Response:
        """Many orders, in the order of the ids asked for; unknown ones are left out; for partners."""
        asked = parse_include(include, INCLUDES)
        listed = await orders.batch_get_orders(parse_ids(ids, "ids"))
        return found(call, {"orders": await with_related(shop, listed, asked)}, PERSONAL)

    @api.get("/v1/users/{user_id}/orders", **reading("orders", models.OrderPage, access=Access.CALLER))
    async def list_orders_of_user(
        call: Call, user_id: UserId, page_size: PageSize100 = 10, page_token: PageToken = "", include: Include = ""
    ) -> Response:
        """A page of one user's orders, newest first: a customer's own, any for partners."""
        require_owner(user_id)
        asked = parse_include(include, INCLUDES)
        page = await orders.list_orders_by_user(user_id, page_size=page_size, page_token=page_token)
        listed = await with_related(shop, page.items, asked) if asked else page.items
        return found(call, {"orders": listed, "next_page_token": page.next_page_token}, PERSONAL)

    @api.post(
        "/v1/orders",
        **creating("orders", models.Order, access=Access.CALLER, problems=[402, 404, 409, 422]),
    )
    async def create_order(order: models.NewOrder, idempotency_key: IdempotencyKey) -> Response:
        """Buys: a customer for itself, a partner for any user. Either everything is bought and paid, or nothing."""
        require_owner(order.user_id)
        bought = await orders.checkout(
            user_id=order.user_id,
            lines=[CheckoutLine(line.product_id, line.quantity) for line in order.lines],
            payment_token=order.payment_token,
            idempotency_key=idempotency_key,
        )
        return created(order_document(bought), f"/v1/orders/{bought.id}")

    @api.patch(
        "/v1/orders/{order_id:name}", **changing("orders", models.Order, access=Access.PARTNER, problems=[409, 412])
    )
    async def update_order(order_id: OrderId, change: models.OrderChange, if_match: IfMatch = None) -> Response:
        """Moves an order one step along CONFIRMED, SHIPPED, DELIVERED; for partners."""
        if if_match is not None:
            check_if_match(if_match, content_of(order_document(await orders.get_order(order_id))))
        return changed(order_document(await orders.update_order_status(order_id, OrderStatus(change.status))))

    @api.post(
        "/v1/orders/{order_id:name}:cancel",
        **changing("orders", models.Order, access=Access.CALLER, problems=[409], body=False),
    )
    async def cancel_order(order_id: OrderId) -> Response:
        """Cancels a CONFIRMED order and gives stock and money back: a customer's own, any for partners."""
        if not sees_all():
            _check_owner(await orders.get_order(order_id))
        return changed(order_document(await orders.cancel_order(order_id)))


def _check_owner(order: Order) -> None:
    """Hides other customers' orders: whether a number is in use is not the caller's business either."""
    if not may_see(order.user_id):
        raise NotFound(f"there is no order {order.id}", field="id")
