"""Drives cancellations: the order becomes CANCELLED, then stock and money are returned, with retries until done."""

from __future__ import annotations

import logging

from shop.contract.ports import PaymentClient, ProductClient
from shop.errors import Conflict, FailedPrecondition, ShopError, Unavailable, no_such
from shop.order.ports import Cancellation, CancellationStore, OrderStore
from shop.order.sagas.retries import FINISH_LIMIT_S, all_with_retries
from shop.platform.deadline import own_deadline
from shop.values.order import Order, OrderStatus

log = logging.getLogger(__name__)


class CancellationSaga:
    """The cancellation saga over its store and the two services that it calls.

    Marking the order CANCELLED is the pivot: from then on the order is not shipped, and the calls that return stock and
    money are retried until they succeed. Both are idempotent, so two drivers of one cancellation do no harm.
    """

    def __init__(
        self, store: CancellationStore, orders: OrderStore, *, product: ProductClient, payment: PaymentClient
    ) -> None:
        self._store = store
        self.take_stuck, self.postpone = store.take_stuck, store.postpone
        self._orders = orders
        self._product = product
        self._payment = payment

    async def run(self, order_id: int) -> Order:
        """Cancels an order; an order that is already CANCELLED is returned as it is.

        Raises:
            NotFound: There is no such order.
            FailedPrecondition: The order has been shipped.
            Conflict: The order's checkout is still under way.
            Unavailable: The order is CANCELLED, but stock or money are not returned yet; recovery takes care of that.
        """
        cancellation = await self._store.begin(order_id)
        order = await self._orders.get(order_id)
        if order is None:
            raise no_such("order", order_id)
        if cancellation is None:
            if order.status is OrderStatus.PENDING:
                raise Conflict(f"the checkout of order {order_id} is still under way; repeat the call in a moment")
            if order.status is not OrderStatus.CANCELLED:
                raise FailedPrecondition(
                    f"order {order_id} is {order.status}; only a {OrderStatus.CONFIRMED} order can be cancelled",
                    field="id",
                )
            cancellation = await self._store.find_running(order_id)
        if cancellation is not None:
            await self._finish(cancellation)
        return order

    async def take_up(self, cancellation: Cancellation) -> None:
        """Returns stock and money; raises `ShopError` if that is impossible now."""
        with own_deadline(FINISH_LIMIT_S):
            await all_with_retries(
                lambda: self._payment.void_payment(cancellation.checkout_id),
                lambda: self._product.release_reservation(cancellation.checkout_id),
            )
            await self._store.complete(cancellation)

    async def _finish(self, cancellation: Cancellation) -> None:
        try:
            await self.take_up(cancellation)
        except Exception as error:
            try:
                with own_deadline(1.0):
                    await self._store.postpone(cancellation, 0.0)
            except ShopError:
                log.warning("cancellation of order %d is left to recovery", cancellation.order_id)
            raise Unavailable(
                f"order {cancellation.order_id} is cancelled; its stock and payment are still being returned; "
                "no action is needed"
            ) from error
