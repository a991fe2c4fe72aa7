"""The order service as a REST client sees it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence

import msgspec

from shop.clients.ports import Page
from shop.clients.rest.channel import RestPeer, listed, optional
from shop.platform.validation import matching
from shop.values.order import CheckoutLine, JoinedOrderLine, Order, OrderStatus

_ID = {"order_id": "id"}
_CHECKOUT = {"Idempotency-Key": "idempotency_key"}
_KEY = re.compile(r"([!-~]([ -~]{0,62}[!-~])?)?")
"""A key that arrives as it was sent: HTTP takes spaces at the ends of a header's value away."""
_KEY_FORM = "1 to 64 printable ASCII characters, without a space at either end"


class _Orders(msgspec.Struct):
    orders: tuple[Order, ...]
    next_page_token: str = ""


class _Lines(msgspec.Struct):
    lines: list[JoinedOrderLine]


class RestOrderClient(RestPeer):
    """`shop.clients.ports.OrderClient` over REST."""

    async def checkout(
        self, *, user_id: int, lines: Sequence[CheckoutLine], payment_token: str, idempotency_key: str
    ) -> Order:
        headers = {"Idempotency-Key": matching(idempotency_key, "idempotency_key", _KEY, _KEY_FORM)}
        body = {"user_id": user_id, "lines": list(lines), "payment_token": payment_token}
        return await self.send(Order, "POST", "/v1/orders", body=body, headers=headers, fields=_CHECKOUT)

    async def get_order(self, order_id: int) -> Order:
        return await self.get(Order, "/v1/orders/{order_id}", order_id, fields=_ID)

    async def batch_get_orders(self, ids: Sequence[int]) -> list[Order]:
        return list((await self.get(_Orders, "/v1/orders", query={"ids": listed(ids)})).orders)

    async def list_orders_by_user(self, user_id: int, *, page_size: int = 0, page_token: str = "") -> Page[Order]:
        query = {"page_size": optional(page_size, 0), "page_token": optional(page_token, "")}
        page = await self.get(_Orders, "/v1/users/{user_id}/orders", user_id, query=query)
        return Page(page.orders, page.next_page_token)

    async def update_order_status(self, order_id: int, status: OrderStatus) -> Order:
        return await self.send(Order, "PATCH", "/v1/orders/{order_id}", order_id, body={"status": status}, fields=_ID)

    async def cancel_order(self, order_id: int) -> Order:
        return await self.send(Order, "POST", "/v1/orders/{order_id}:cancel", order_id, fields=_ID)

    def stream_order_lines(self, *, after_line_id: int = 0, limit: int = 0) -> AsyncIterator[JoinedOrderLine]:
        return self.pages(
            _Lines,
            "/v1/order-lines",
            "after_line_id",
            after_line_id,
            limit,
            rows=lambda page: page.lines,
            id_of=lambda line: line.id,
        )
