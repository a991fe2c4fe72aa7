"""The bulk read of order lines: `/v1/order-lines`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from fastapi import FastAPI

from shop.contract.ports import OrderClient
from shop.platform.http.caching import PERSONAL
from shop.platform.rest.answers import Answer, ok
from shop.platform.rest.openapi import reading
from shop.platform.rest.parameters import AfterLineId, PageSize10000, PageToken
from shop.platform.rest.requests import RestCall
from shop.resources.bodies import OrderLinesPage
from shop.resources.pages import next_token, start
from shop.values.order import JoinedOrderLine

_SCOPE = "order-lines"


def add_order_lines(api: FastAPI, stream: Callable[..., AsyncIterator[JoinedOrderLine]], page_token_key: bytes) -> None:
    @api.api_route(**reading("order lines", OrderClient.stream_order_lines))
    async def list_order_lines(
        call: RestCall, after_line_id: AfterLineId = 0, page_size: PageSize10000 = 1000, page_token: PageToken = ""
    ) -> Answer[OrderLinesPage]:
        """A page of the lines of all orders, by ascending id, joined with their orders; for partners.

        Start anywhere with `after_line_id`, continue with `page_token`. Checkouts that run at the same time may store a
        line after lines with greater ids. So an export that continues an earlier one should begin 10,000 ids before
        its end, and skip the lines that it already has.
        """
        after = start(_SCOPE, page_token, "after_line_id", after_line_id, page_token_key)
        lines = [line async for line in stream(after_line_id=after, limit=page_size)]
        token = next_token(_SCOPE, lines, page_size, lambda line: line.id, page_token_key)
        return ok(call, OrderLinesPage(lines, token), PERSONAL)
