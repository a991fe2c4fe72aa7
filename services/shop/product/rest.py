"""The catalogue over REST: decodes requests, calls the use cases, encodes the answers.

`shop.resources.products` has the routes that gateways serve as well.
"""

from __future__ import annotations

from fastapi import FastAPI

from shop.contract.ports import ProductClient
from shop.platform.http.caching import PUBLIC, surrogate_keys
from shop.platform.incoming import Incoming
from shop.platform.page_token import DEFAULT_KEY
from shop.platform.rest.answers import Answer, answer_changed, ok
from shop.platform.rest.app import add_docs
from shop.platform.rest.openapi import changing, reading
from shop.platform.rest.parameters import (
    AfterProductId,
    Limit20,
    PageSize10000,
    PageToken,
    ProductIds,
    ReservationId,
    parse_ids,
)
from shop.platform.rest.requests import RestCall
from shop.product.service import REVIEWS, ProductService
from shop.resources.pages import next_token, start
from shop.resources.products import add_products
from shop.resources.request_bodies import NewReservation
from shop.resources.response_bodies import ProductRowsPage, ReviewList
from shop.resources.service_api import service_api
from shop.values.product import ProductReviews, Reservation, StockLine

TAGS = {
    "products": "The catalogue: open to read, changed by partners.",
    "reservations": "Stock held for checkouts; internal.",
}
_ROWS = "product-rows"


def build_app(service: ProductService, incoming: Incoming, page_token_key: bytes = DEFAULT_KEY) -> FastAPI:
    api = service_api("product", "The catalogue and its stock", TAGS, incoming)
    add_products(api, service)

    @api.api_route(**reading("products", ProductClient.batch_list_reviews))
    async def batch_list_reviews(
        call: RestCall, product_ids: ProductIds, limit: Limit20 = REVIEWS
    ) -> Answer[ReviewList]:
        """The first reviews of each requested product, by ascending id."""
        reviews = await service.batch_list_reviews(parse_ids(product_ids, "product_ids"), limit=limit)
        listed = [ProductReviews(product_id, tuple(some)) for product_id, some in reviews.items()]
        return ok(call, ReviewList(listed), PUBLIC, keys=surrogate_keys(reviews, listed=False))

    @api.api_route(**reading("products", ProductClient.stream_product_rows))
    async def list_product_rows(
        call: RestCall,
        after_product_id: AfterProductId = 0,
        page_size: PageSize10000 = 1000,
        page_token: PageToken = "",
    ) -> Answer[ProductRowsPage]:
        """A page of all products, by ascending id, each at the size of an order line."""
        after = start(_ROWS, page_token, "after_product_id", after_product_id, page_token_key)
        chunks = service.stream_product_rows(after_product_id=after, limit=page_size)
        rows = [row async for chunk in chunks for row in chunk]
        token = next_token(_ROWS, rows, page_size, lambda row: row.product_id, page_token_key)
        keys = surrogate_keys([row.product_id for row in rows], listed=True)
        return ok(call, ProductRowsPage(rows, token), PUBLIC, keys=keys)

    @api.api_route(**changing("reservations", ProductClient.reserve_stock, problems=[409]))
    async def reserve_stock(reservation_id: ReservationId, new: NewReservation) -> Answer[Reservation]:
        """Takes stock until it is confirmed or released, all lines or none; the same again changes nothing."""
        lines = [StockLine(line.product_id, line.quantity) for line in new.lines]
        return answer_changed(await service.reserve_stock(reservation_id, lines))

    @api.api_route(**changing("reservations", ProductClient.confirm_reservation, problems=[409], body=False))
    async def confirm_reservation(reservation_id: ReservationId) -> Answer[Reservation]:
        """Turns held stock into sold stock."""
        return answer_changed(await service.confirm_reservation(reservation_id))

    @api.api_route(**changing("reservations", ProductClient.release_reservation, problems=[409], body=False))
    async def release_reservation(reservation_id: ReservationId) -> Answer[Reservation]:
        """Gives stock back, held or sold; an unknown id is remembered as released."""
        return answer_changed(await service.release_reservation(reservation_id))

    add_docs(api)
    return api
