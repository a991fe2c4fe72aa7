"""The application: all routes, on top of the services' clients."""

from __future__ import annotations

from fastapi import FastAPI

from rest_gateway.orders import add_orders
from rest_gateway.payments import add_payments
from shop.contract.calls import NOTIFICATION, ORDER, PAYMENT, USER
from shop.contract.ports import Clients
from shop.platform.access.owners import apply_owner_rules
from shop.platform.access.streams import Streams
from shop.platform.incoming import Incoming
from shop.platform.page_token import DEFAULT_KEY
from shop.platform.rest.app import add_docs, rest_api
from shop.resources.examples import PUBLISHED
from shop.resources.notifications import add_notifications
from shop.resources.orders import add_order_lines
from shop.resources.products import add_products
from shop.resources.users import add_users

DESCRIPTION = """\
The shop for partners, and for everybody who prefers resources to queries.

- **Money** is a whole number of the currency's minor unit, **times** are RFC 3339 in UTC, **ids** are numbers.
- **Pages**: give `next_page_token` as `page_token`, with the same filter, until it is empty.
- **Batches**: `ids=1,2,3` reads up to 1,000 things in one request. **`include=`** adds what belongs to a thing.
- **Caching**: every GET has an `ETag`; send it as `If-None-Match` and get 304 if nothing has changed, or as
  `If-Match` with a PATCH or DELETE and get 412 if something has. A PATCH of `stock` needs it (428).
- **Idempotency**: `POST /v1/orders` needs an `Idempotency-Key`; repeat it with the same key and body
  as often as needed.
- **Errors** are problem details (RFC 9457) with a stable `code`, and say what to change.
- **Time**: a request takes 5 seconds at most; streams of events last until either side ends them.
"""


TAGS = {
    "products": "The catalogue: open to read, changed by partners.",
    "users": "Customers: each sees only itself, partners see all.",
    "sessions": "Logins of customers.",
    "orders": "Checkout, reads and status changes of orders.",
    "payments": "Payments of orders.",
    "order lines": "Bulk read for partners.",
    "notifications": "Changes of orders, sent to their buyers: there with `updates=on`.",
}


def build_app(
    shop: Clients, incoming: Incoming, page_token_key: bytes = DEFAULT_KEY, streams: Streams | None = None
) -> FastAPI:
    """Returns the application; `streams` limits and ends the streams of updates, and is None for no updates."""
    api = rest_api(
        title="Hopwise shop",
        summary="Products, users, orders and payments as resources",
        description=DESCRIPTION,
        tags=TAGS,
        incoming=incoming,
        published=PUBLISHED,
    )
    checked = Clients(
        product=shop.product,
        user=apply_owner_rules(USER, shop.user),
        order=apply_owner_rules(ORDER, shop.order),
        payment=apply_owner_rules(PAYMENT, shop.payment),
        notification=apply_owner_rules(NOTIFICATION, shop.notification),
    )
    add_products(api, checked.product)
    add_users(api, checked.user)
    add_orders(api, checked)
    add_payments(api, checked)
    if streams is not None:
        add_notifications(api, checked.notification, checked.order, streams)
    add_order_lines(api, checked.order.stream_order_lines, page_token_key)
    add_docs(api)
    return api
