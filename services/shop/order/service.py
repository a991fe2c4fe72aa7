"""The use cases of the order service, over its stores and sagas."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence

from shop.contract.ports import Page
from shop.errors import no_such
from shop.fields import MAX_ID
from shop.order.background import Background
from shop.order.domain import status_before
from shop.order.ports import OrderStore
from shop.order.sagas.cancellation import CancellationSaga
from shop.order.sagas.checkout import CheckoutRequest, CheckoutSaga
from shop.platform import page_token as page_tokens
from shop.platform import validation
from shop.values.order import MAX_LINES, CheckoutLine, JoinedOrderLine, Order, OrderStatus, refused_move
from shop.values.page import DEFAULT_ROWS, MAX_ROWS

MAX_PIECES = 1_000
DEFAULT_PAGE, MAX_PAGE = 10, 100
STREAM_CHUNK = 250
MAX_TOKEN = 200
_KEY = re.compile(r"[ -~]{1,64}")
"""The form of an idempotency key: printable ASCII, including spaces."""


class OrderService:
    """The use cases of orders: the methods and errors of `shop.contract.ports.OrderClient`; lines come in chunks."""

    def __init__(
        self,
        orders: OrderStore,
        checkouts: CheckoutSaga,
        cancellations: CancellationSaga,
        background: Background,
        *,
        page_token_key: bytes = page_tokens.DEFAULT_KEY,
    ) -> None:
        self._orders = orders
        self._checkouts = checkouts
        self._cancellations = cancellations
        self._background = background
        self._page_token_key = page_token_key

    async def checkout(
        self, *, user_id: int, lines: Sequence[CheckoutLine], payment_token: str, idempotency_key: str
    ) -> Order:
        validation.identifier(user_id, "user_id")
        validation.between(len(lines), "lines", 1, MAX_LINES)
        for index, line in enumerate(lines):
            validation.identifier(line.product_id, f"lines[{index}].product_id")
            validation.between(line.quantity, f"lines[{index}].quantity", 1, MAX_PIECES)
        validation.distinct([line.product_id for line in lines], lambda index: f"lines[{index}].product_id")
        validation.text(payment_token, "payment_token", 1, MAX_TOKEN)
        validation.matching(idempotency_key, "idempotency_key", _KEY, "1 to 64 printable ASCII characters")
        request = CheckoutRequest(user_id, tuple(lines), payment_token, idempotency_key)
        return await self._background.shield(self._checkouts.run(request))

    async def get_order(self, order_id: int) -> Order:
        order = await self._orders.get(validation.identifier(order_id, "id"))
        if order is None:
            raise no_such("order", order_id)
        return order

    async def batch_get_orders(self, ids: Sequence[int]) -> list[Order]:
        wanted = validation.identifiers(ids, "ids")
        orders = {order.id: order for order in await self._orders.get_many(wanted)}
        return [orders[order_id] for order_id in wanted if order_id in orders]

    async def list_orders_by_user(self, user_id: int, *, page_size: int = 0, page_token: str = "") -> Page[Order]:
        validation.identifier(user_id, "user_id")
        size = validation.size(page_size, "page_size", default=DEFAULT_PAGE, maximum=MAX_PAGE)
        scope = f"ListOrdersByUser:{user_id}"
        before = page_tokens.decode(page_token, scope, key=self._page_token_key)
        # One order more than the page holds shows whether there is another page.
        orders = await self._orders.of_user(user_id, before=before, limit=size + 1)
        return Page(*page_tokens.cut(orders, size, scope, key=self._page_token_key))

    async def update_order_status(self, order_id: int, status: OrderStatus) -> Order:
        validation.identifier(order_id, "id")
        order = await self._orders.move(order_id, current=status_before(status), wanted=status)
        if order is None:
            raise refused_move(order_id, (await self.get_order(order_id)).status, status)
        return order

    async def cancel_order(self, order_id: int) -> Order:
        validation.identifier(order_id, "id")
        return await self._background.shield(self._cancellations.run(order_id))

    def stream_order_lines(self, *, after_line_id: int = 0, limit: int = 0) -> AsyncGenerator[list[JoinedOrderLine]]:
        """Reads lines in chunks of up to `STREAM_CHUNK`."""
        validation.between(after_line_id, "after_line_id", 0, MAX_ID)
        wanted = validation.size(limit, "limit", default=DEFAULT_ROWS, maximum=MAX_ROWS)
        return self._orders.lines(after=after_line_id, limit=wanted, chunk=STREAM_CHUNK)
