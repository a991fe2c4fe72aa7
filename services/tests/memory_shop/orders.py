"""Orders and the checkout in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from memory_shop.payments import MemoryPayments
from memory_shop.products import MemoryProducts
from memory_shop.store import MemoryService, Store, check_batch, check_id, decode_token, page_of
from memory_shop.store import page_size as sized
from shop.clients.ports import Page
from shop.errors import FailedPrecondition, IdempotencyKeyReused, InvalidArgument, NotFound, ShopError
from shop.money import Money
from shop.order.domain import CheckoutLine, JoinedOrderLine, Order, OrderLine, OrderStatus
from shop.product.domain import StockLine

PLACED_AT = datetime(2026, 1, 1, tzinfo=UTC)
_NEXT = {OrderStatus.CONFIRMED: OrderStatus.SHIPPED, OrderStatus.SHIPPED: OrderStatus.DELIVERED}


class MemoryOrders(MemoryService):
    """`OrderClient` over the store; the checkout is a plain sequence, without the saga's recovery.

    Its own calls of stock and payments are not recorded: a caller sees one call.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        inner = Store(products=store.products, reservations=store.reservations, payments=store.payments)
        self._products = MemoryProducts(inner)
        self._payments = MemoryPayments(inner)

    async def checkout(
        self, *, user_id: int, lines: Sequence[CheckoutLine], payment_token: str, idempotency_key: str
    ) -> Order:
        await self.called("checkout")
        if not 1 <= len(lines) <= 100:
            raise InvalidArgument(f"lines has {len(lines)} entries; 1 to 100 are valid", field="lines")
        body = (tuple(lines), payment_token)
        known = self.store.checkouts.get((user_id, idempotency_key))
        if known is not None:
            if known[0] != body:
                raise IdempotencyKeyReused("the idempotency key came before, with another body")
            return self._order(known[1])
        if user_id not in self.store.users:
            raise NotFound(f"there is no user {user_id}", field="user_id")
        order_id = max(self.store.orders, default=0) + 1
        checkout_id = f"checkout-{order_id}"
        stock = [StockLine(line.product_id, line.quantity) for line in lines]
        reserved = await self._products.reserve_stock(checkout_id, stock)
        total = sum((line.unit_price.amount_minor * line.quantity for line in reserved.lines), 0)
        amount = Money(total, reserved.lines[0].unit_price.currency)
        try:
            await self._payments.authorize_payment(
                checkout_id=checkout_id, user_id=user_id, amount=amount, payment_token=payment_token
            )
        except ShopError:
            await self._products.release_reservation(checkout_id)
            raise
        first_id = max((line.id for order in self.store.orders.values() for line in order.lines), default=0) + 1
        bought = tuple(
            OrderLine(first_id + position, position + 1, line.product_id, line.quantity, line.unit_price)
            for position, line in enumerate(reserved.lines)
        )
        order = Order(order_id, user_id, OrderStatus.CONFIRMED, PLACED_AT, amount, bought)
        self.store.orders[order_id] = order
        self.store.checkouts[user_id, idempotency_key] = (body, order_id)
        await self._products.confirm_reservation(checkout_id)
        await self._payments.capture_payment(checkout_id=checkout_id, order_id=order_id)
        return order

    async def get_order(self, order_id: int) -> Order:
        await self.called("get_order")
        check_id(order_id, "id")
        return self._shown(self._order(order_id))

    async def batch_get_orders(self, ids: Sequence[int]) -> list[Order]:
        await self.called("batch_get_orders")
        orders = self.store.orders
        return [self._shown(orders[id_]) for id_ in check_batch(ids, "ids") if id_ in orders]

    async def list_orders_by_user(self, user_id: int, *, page_size: int = 0, page_token: str = "") -> Page[Order]:
        await self.called("list_orders_by_user")
        check_id(user_id, "user_id")
        size = sized(page_size, 10, 100)
        scope = f"orders:{user_id}"
        before = decode_token(page_token, scope)
        found = [
            order
            for id_, order in sorted(self.store.orders.items(), reverse=True)
            if self.store.owner(order.user_id) == user_id and (not before or id_ < before)
        ]
        return page_of(found, size, scope, lambda order: order.id)

    async def update_order_status(self, order_id: int, status: OrderStatus) -> Order:
        await self.called("update_order_status")
        order = self._order(order_id)
        if status not in _NEXT.values():
            raise InvalidArgument(f"status {status} is not valid here; SHIPPED and DELIVERED are", field="status")
        if _NEXT.get(order.status) is not status:
            raise FailedPrecondition(f"order {order_id} is {order.status}; it cannot become {status}", field="status")
        return self._keep(replace(order, status=status))

    async def cancel_order(self, order_id: int) -> Order:
        await self.called("cancel_order")
        order = self._order(order_id)
        if order.status is OrderStatus.CANCELLED:
            return order
        if order.status is not OrderStatus.CONFIRMED:
            raise FailedPrecondition(f"order {order_id} is {order.status}; only CONFIRMED can be cancelled", field="id")
        await self._products.release_reservation(f"checkout-{order_id}")
        await self._payments.void_payment(f"checkout-{order_id}")
        return self._keep(replace(order, status=OrderStatus.CANCELLED))

    async def stream_order_lines(self, *, after_line_id: int = 0, limit: int = 0) -> AsyncIterator[JoinedOrderLine]:
        await self.called("stream_order_lines")
        rows = sorted(
            ((line, order) for order in self.store.orders.values() for line in order.lines if line.id > after_line_id),
            key=lambda row: row[0].id,
        )
        for line, order in rows[: limit or 1000]:
            yield JoinedOrderLine(
                id=line.id,
                order_id=order.id,
                user_id=order.user_id,
                status=order.status,
                placed_at=order.placed_at,
                product_id=line.product_id,
                quantity=line.quantity,
                unit_price=line.unit_price,
            )

    def _order(self, order_id: int) -> Order:
        order = self.store.orders.get(order_id)
        if order is None:
            raise NotFound(f"there is no order {order_id}", field="id")
        return order

    def _shown(self, order: Order) -> Order:
        return replace(order, user_id=self.store.owner(order.user_id))

    def _keep(self, order: Order) -> Order:
        self.store.orders[order.id] = order
        return order
