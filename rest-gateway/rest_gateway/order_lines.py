"""The bulk read of order lines: `/v1/order-lines`."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.responses import Response

from rest_gateway.answers import found
from rest_gateway.auth import Access
from rest_gateway.caching import PERSONAL
from rest_gateway.call import Call
from rest_gateway.documents import line_document
from rest_gateway.models import orders as models
from rest_gateway.operations import reading
from rest_gateway.parameters import AfterLineId, PageSize10000, PageToken, check_alone
from shop.clients import Clients
from shop.platform import page_token as tokens

_SCOPE = "order-lines"


def add_order_lines(api: FastAPI, shop: Clients, page_token_key: bytes) -> None:
    """Declares the route of order lines.

    Args:
        api: Where to declare it.
        shop: The services.
        page_token_key: Key of this installation's page tokens.
    """

    @api.get("/v1/order-lines", **reading("order lines", models.OrderLinesPage, access=Access.PARTNER))
    async def list_order_lines(
        call: Call, after_line_id: AfterLineId = 0, page_size: PageSize10000 = 1000, page_token: PageToken = ""
    ) -> Response:
        """A page of the lines of all orders, by ascending id, joined with their orders; for partners.

        Start anywhere with `after_line_id`, go on with `page_token`.
        """
        after = after_line_id
        if page_token:
            check_alone("page_token", {"after_line_id": after_line_id})
            after = tokens.decode(page_token, _SCOPE, key=page_token_key)
        lines = [
            line_document(line) async for line in shop.order.stream_order_lines(after_line_id=after, limit=page_size)
        ]
        full = len(lines) == page_size
        token = tokens.encode(_SCOPE, lines[-1].id, key=page_token_key) if full else ""
        return found(call, {"lines": lines, "next_page_token": token}, PERSONAL)
