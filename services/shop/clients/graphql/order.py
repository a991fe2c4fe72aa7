"""Orders as a GraphQL client sees them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import asdict

from shop.clients.graphql.channel import Document, GraphQLPeer, money
from shop.clients.ports import Page
from shop.values.order import CheckoutLine, JoinedOrderLine, Order, OrderLine, OrderStatus

_MONEY = "{ amountMinor currency }"
_LINES = f"lines {{ id lineNumber productId quantity unitPrice {_MONEY} }}"
_ORDER = f"{{ id userId status placedAt total {_MONEY} {_LINES} }}"

CHECKOUT = Document(
    "mutation Checkout($userId: Long!, $lines: [CheckoutLineInput!]!, $paymentToken: String!, "
    "$idempotencyKey: String!) { checkout(userId: $userId, lines: $lines, paymentToken: $paymentToken, "
    f"idempotencyKey: $idempotencyKey) {_ORDER} }}"
)
GET = Document(f"query GetOrder($id: Long!) {{ order(id: $id) {_ORDER} }}")
BATCH_GET = Document(f"query BatchGetOrders($ids: [Long!]!) {{ orders(ids: $ids) {_ORDER} }}")
LIST_BY_USER = Document(
    "query ListOrdersByUser($userId: Long!, $pageSize: Long!, $pageToken: String!) { ordersByUser(userId: $userId, "
    f"pageSize: $pageSize, pageToken: $pageToken) {{ items {_ORDER} nextPageToken }} }}"
)
UPDATE_STATUS = Document(
    "mutation UpdateOrderStatus($id: Long!, $status: OrderStatus!) "
    f"{{ updateOrderStatus(id: $id, status: $status) {_ORDER} }}"
)
CANCEL = Document(f"mutation CancelOrder($id: Long!) {{ cancelOrder(id: $id) {_ORDER} }}")
LINES = Document(
    "query OrderLines($afterLineId: Long!, $limit: Long!) { orderLines(afterLineId: $afterLineId, limit: $limit) "
    f"{{ id orderId userId status placedAt productId quantity unitPrice {_MONEY} }} }}"
)


class GraphQLOrderClient(GraphQLPeer):
    """`shop.clients.ports.OrderClient` over GraphQL."""

    async def checkout(
        self, *, user_id: int, lines: Sequence[CheckoutLine], payment_token: str, idempotency_key: str
    ) -> Order:
        answer = await self.run(
            CHECKOUT,
            user_id=user_id,
            lines=[asdict(line) for line in lines],
            payment_token=payment_token,
            idempotency_key=idempotency_key,
        )
        return _order(answer)

    async def get_order(self, order_id: int) -> Order:
        return _order(await self.run(GET, id=order_id))

    async def batch_get_orders(self, ids: Sequence[int]) -> list[Order]:
        return [_order(answer) for answer in await self.run(BATCH_GET, ids=list(ids))]

    async def list_orders_by_user(self, user_id: int, *, page_size: int = 0, page_token: str = "") -> Page[Order]:
        page = await self.run(LIST_BY_USER, user_id=user_id, page_size=page_size, page_token=page_token)
        return Page(tuple(_order(answer) for answer in page["items"]), page["nextPageToken"])

    async def update_order_status(self, order_id: int, status: OrderStatus) -> Order:
        return _order(await self.run(UPDATE_STATUS, id=order_id, status=status.value))

    async def cancel_order(self, order_id: int) -> Order:
        return _order(await self.run(CANCEL, id=order_id))

    async def stream_order_lines(self, *, after_line_id: int = 0, limit: int = 0) -> AsyncIterator[JoinedOrderLine]:
        async for line in self.pages(LINES, "after_line_id", "id", after_line_id, limit):
            yield JoinedOrderLine(
                line["id"],
                line["orderId"],
                line["userId"],
                OrderStatus(line["status"]),
                datetime.fromisoformat(line["placedAt"]),
                line["productId"],
                line["quantity"],
                money(line["unitPrice"]),
            )


def _order(answer: dict[str, Any]) -> Order:
    lines = tuple(
        OrderLine(line["id"], line["lineNumber"], line["productId"], line["quantity"], money(line["unitPrice"]))
        for line in answer["lines"]
    )
    return Order(
        answer["id"],
        answer["userId"],
        OrderStatus(answer["status"]),
        datetime.fromisoformat(answer["placedAt"]),
        money(answer["total"]),
        lines,
    )
