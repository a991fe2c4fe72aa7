"""The application: all routes over the services' clients."""

from __future__ import annotations

from fastapi import FastAPI

from rest_gateway.auth import Door, Verifier
from rest_gateway.docs_page import add_docs
from rest_gateway.gateway import Gateway
from rest_gateway.order_lines import add_order_lines
from rest_gateway.orders import add_orders
from rest_gateway.payments import add_payments
from rest_gateway.products import add_products
from rest_gateway.sessions import add_sessions
from rest_gateway.users import add_users
from shop.clients import Clients
from shop.platform.page_token import DEFAULT_KEY

DESCRIPTION = """\
The shop for partners, and for everybody who prefers resources to queries.

- **Money** is a whole number of the currency's minor unit, **times** are RFC 3339 in UTC, **ids** are numbers.
- **Pages**: give `next_page_token` as `page_token`, with the same filter, until it is empty.
- **Batches**: `ids=1,2,3` reads up to 1,000 things in one request. **`include=`** adds what belongs to a thing.
- **Caching**: every GET has an `ETag`; send it as `If-None-Match` and get 304 if nothing has changed, or as
  `If-Match` with a PATCH and get 412 if something has.
- **Idempotency**: `POST /v1/orders` needs an `Idempotency-Key`; repeat it with the same key and body
  as often as needed.
- **Errors** are problem details (RFC 9457) with a stable `code`, and say what to change.
- **Time**: a request takes 5 seconds at most.
"""


def declare(shop: Clients, page_token_key: bytes = DEFAULT_KEY) -> FastAPI:
    """Returns the API with all its routes declared.

    Args:
        shop: The services.
        page_token_key: Key of this installation's page tokens.
    """
    api = FastAPI(
        title="Hopwise shop",
        version="1.0.0",
        summary="Products, users, orders and payments as resources",
        description=DESCRIPTION,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
    )
    add_products(api, shop)
    add_users(api, shop)
    add_sessions(api, shop)
    add_orders(api, shop)
    add_payments(api, shop)
    add_order_lines(api, shop, page_token_key)
    add_docs(api)
    return api


def build_app(shop: Clients, verifier: Verifier, page_token_key: bytes = DEFAULT_KEY) -> Gateway:
    """Returns the ASGI application.

    Args:
        shop: The services.
        verifier: Checks callers' tokens.
        page_token_key: Key of this installation's page tokens.
    """
    return Gateway(declare(shop, page_token_key), Door(verifier))
