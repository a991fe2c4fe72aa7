"""The catalogue over REST: decodes, calls, encodes. What a gateway serves too is in `shop.resources.products`."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.responses import Response

from shop.platform.access import Access, Authenticator
from shop.platform.page_token import DEFAULT_KEY
from shop.platform.rest.answers import changed, found
from shop.platform.rest.app import rest_api
from shop.platform.rest.caching import PUBLIC
from shop.platform.rest.call import Call
from shop.platform.rest.docs_page import add_docs
from shop.platform.rest.operations import changing, reading
from shop.platform.rest.parameters import (
    AfterProductId,
    Limit20,
    PageSize10000,
    PageToken,
    ProductIds,
    ReservationId,
    parse_ids,
)
from shop.product.domain import StockLine
from shop.product.local import LocalProductClient
from shop.product.service import REVIEWS, ProductService
from shop.resources.about import ABOUT
from shop.resources.models import products as models
from shop.resources.pages import next_token, start
from shop.resources.products import add_products

TAGS = [
    {"name": "products", "description": "The catalogue: open to read, changed by partners."},
    {"name": "reservations", "description": "Stock held for checkouts; internal."},
]
_ROWS = "product-rows"


def build_app(service: ProductService, authenticator: Authenticator, page_token_key: bytes = DEFAULT_KEY) -> FastAPI:
    """Returns the application.

    Args:
        service: Does the work.
        authenticator: Decides who is admitted.
        page_token_key: Key of this installation's page tokens.
    """
    api = rest_api(
        title="Hopwise product",
        summary="The catalogue and its stock",
        description=ABOUT,
        tags=TAGS,
        authenticator=authenticator,
    )
    catalogue = LocalProductClient(service)
    add_products(api, catalogue)
    _add_reviews(api, catalogue)
    _add_rows(api, catalogue, page_token_key)
    _add_reservations(api, catalogue)
    add_docs(api)
    return api


def _add_reviews(api: FastAPI, catalogue: LocalProductClient) -> None:
    @api.get("/v1/reviews", **reading("products", models.ReviewList, access=Access.EVERYBODY))
    async def batch_list_reviews(call: Call, product_ids: ProductIds, limit: Limit20 = REVIEWS) -> Response:
        """The first reviews of each product asked for, by ascending id."""
        reviews = await catalogue.batch_list_reviews(parse_ids(product_ids, "product_ids"), limit=limit)
        listed = [{"product_id": product_id, "reviews": some} for product_id, some in reviews.items()]
        return found(call, {"products": listed}, PUBLIC)


def _add_rows(api: FastAPI, catalogue: LocalProductClient, key: bytes) -> None:
    @api.get("/v1/product-rows", **reading("products", models.ProductRowsPage, access=Access.EVERYBODY))
    async def list_product_rows(
        call: Call, after_product_id: AfterProductId = 0, page_size: PageSize10000 = 1000, page_token: PageToken = ""
    ) -> Response:
        """A page of all products, by ascending id, each at the size of an order line."""
        after = start(_ROWS, page_token, "after_product_id", after_product_id, key)
        rows = [row async for row in catalogue.stream_product_rows(after_product_id=after, limit=page_size)]
        token = next_token(_ROWS, rows, page_size, lambda row: row.product_id, key)
        return found(call, {"rows": rows, "next_page_token": token}, PUBLIC)


def _add_reservations(api: FastAPI, catalogue: LocalProductClient) -> None:
    path = "/v1/reservations/{reservation_id:name}"

    @api.put(path, **changing("reservations", models.Reservation, access=Access.INTERNAL, problems=[409]))
    async def reserve_stock(reservation_id: ReservationId, new: models.NewReservation) -> Response:
        """Takes stock until it is confirmed or released, all lines or none; the same again changes nothing."""
        lines = [StockLine(line.product_id, line.quantity) for line in new.lines]
        return changed(await catalogue.reserve_stock(reservation_id, lines))

    @api.post(
        f"{path}:confirm",
        **changing("reservations", models.Reservation, access=Access.INTERNAL, problems=[409], body=False),
    )
    async def confirm_reservation(reservation_id: ReservationId) -> Response:
        """Turns held stock into sold stock."""
        return changed(await catalogue.confirm_reservation(reservation_id))

    @api.post(
        f"{path}:release",
        **changing("reservations", models.Reservation, access=Access.INTERNAL, problems=[409], body=False),
    )
    async def release_reservation(reservation_id: ReservationId) -> Response:
        """Gives stock back, held or sold; an unknown id is remembered as released."""
        return changed(await catalogue.release_reservation(reservation_id))
