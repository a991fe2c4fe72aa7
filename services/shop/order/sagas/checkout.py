"""Drives checkouts: forward for a caller; for recovery, forward to completion or back until everything is undone."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from shop.contract.ports import PaymentClient, ProductClient, UserClient
from shop.errors import Conflict, ErrorCode, IdempotencyKeyReused, Internal, NotFound, ShopError, Unavailable, no_such
from shop.order.checkout_states import (
    Checkout,
    Compensation,
    Refusal,
    SagaState,
    Step,
    compensations,
    request_hash,
    undo_from,
)
from shop.order.domain import Purchase, check_address, purchase
from shop.order.ports import CheckoutStore, OrderStore, TakenOver
from shop.order.sagas.retries import FINISH_LIMIT_S, FORWARD_LIMIT_S, all_with_retries, with_retries
from shop.platform.deadline import deadline, own_deadline, remaining
from shop.platform.error_codes import error_for_code
from shop.values.order import CheckoutLine, Order, OrderStatus
from shop.values.product import Reservation, StockLine

T = TypeVar("T")

log = logging.getLogger(__name__)

INTERRUPTED = Refusal(ErrorCode.UNAVAILABLE, "the checkout was interrupted and nothing was bought; repeat it")


class CheckoutRequest(Struct, frozen=True, gc=False):
    """A customer's purchase, already validated."""

    user_id: int
    lines: Sequence[CheckoutLine]
    payment_token: str
    idempotency_key: str


class CheckoutSaga:
    """The checkout saga over its store and the three services that it calls; `checkout_states` has the diagram."""

    def __init__(
        self,
        store: CheckoutStore,
        orders: OrderStore,
        *,
        product: ProductClient,
        user: UserClient,
        payment: PaymentClient,
    ) -> None:
        self._store = store
        self.take_stuck, self.postpone = store.take_stuck, store.postpone
        self._orders = orders
        self._product = product
        self._user = user
        self._payment = payment

    async def run(self, request: CheckoutRequest) -> Order:
        """Makes the purchase, or repeats the answer to the first call with this user and key.

        Must not be cancelled together with its caller: see `Background`.

        Raises:
            IdempotencyKeyReused: The key was used before with another body.
            Conflict: The first call with this key is still under way.
            ShopError: The error of the user, product or payment service; nothing is bought then.
        """
        checkout = Checkout(
            id=str(uuid.uuid4()),
            user_id=request.user_id,
            idempotency_key=request.idempotency_key,
            request_hash=request_hash(request.lines, request.payment_token),
        )
        with deadline(FORWARD_LIMIT_S):
            try:
                claimed = await self._store.claim(checkout)
            except Exception:
                # The checkout may have been stored nevertheless.
                await self._leave(checkout)
                raise
            if claimed.id != checkout.id:
                return await self._repeat(claimed, checkout.request_hash)
            placed, order = await self._forward(claimed, request)
        try:
            await self._settle(placed)
        except Exception as error:
            await self._leave(placed)
            raise Unavailable(
                "the order is stored but not paid yet; repeat the call with the same idempotency_key"
            ) from error
        return replace(order, status=OrderStatus.CONFIRMED)

    async def take_up(self, checkout: Checkout) -> None:
        """Finishes a checkout that was taken over from a dead process; raises `ShopError` if that is impossible now."""
        if checkout.step is Step.SETTLE:
            await self._settle(checkout)
            return
        with own_deadline(FINISH_LIMIT_S):
            if checkout.state is SagaState.RUNNING:
                checkout = await self._store.start_undo(checkout, checkout.step, INTERRUPTED)
            await self._undo(checkout)

    async def _repeat(self, first: Checkout, wanted: bytes) -> Order:
        if first.request_hash != wanted:
            raise IdempotencyKeyReused(
                "this idempotency_key was already used with other lines or another payment_token; use a new key",
                field="idempotency_key",
            )
        if first.state is SagaState.COMPLETED and first.order_id is not None:
            order = await self._orders.get(first.order_id)
            if order is None:
                raise Internal(f"checkout {first.id} has lost its order")
            return order
        if first.state is SagaState.FAILED and first.refusal is not None:
            raise error_for_code(first.refusal.code, first.refusal.message, first.refusal.field)
        raise Conflict(
            "the first checkout with this idempotency_key is still under way; repeat the call in a moment",
            field="idempotency_key",
        )

    async def _forward(self, checkout: Checkout, request: CheckoutRequest) -> tuple[Checkout, Order]:
        """Runs up to the pivot, or undoes everything and raises the failure."""
        await self._attempt(checkout, None, self._check_user(request.user_id))
        wanted = [StockLine(line.product_id, line.quantity) for line in request.lines]
        reservation = await self._attempt(checkout, Step.RESERVE, self._product.reserve_stock(checkout.id, wanted))
        bought = await self._attempt(checkout, Step.AUTHORIZE, self._authorize(checkout, request, reservation))
        try:
            with own_deadline(FINISH_LIMIT_S):
                order = await self._store.place(checkout, bought)
        except TakenOver:
            raise
        except Exception:
            # The order may be stored: only its row can say on which side of the pivot the checkout is.
            await self._leave(checkout)
            raise
        return replace(checkout, step=Step.SETTLE, order_id=order.id), order

    async def _attempt(self, checkout: Checkout, step: Step | None, call: Awaitable[T]) -> T:
        try:
            return await call
        except TakenOver:
            raise
        except Exception as error:
            await self._give_up(checkout, None if step is None else undo_from(step, error), error)
            raise

    async def _check_user(self, user_id: int) -> None:
        try:
            user = await self._user.get_user(user_id)
        except NotFound as error:
            # The user service names a field of its request; a checkout has another one.
            raise no_such("user", user_id, "user_id") from error
        check_address(user_id, user.address)

    async def _authorize(self, checkout: Checkout, request: CheckoutRequest, reservation: Reservation) -> Purchase:
        bought = purchase(request.lines, {line.product_id: line.unit_price for line in reservation.lines})
        await self._store.advance(checkout, Step.AUTHORIZE)
        await self._payment.authorize_payment(
            checkout_id=checkout.id, user_id=request.user_id, amount=bought.total, payment_token=request.payment_token
        )
        remaining()  # a caller that has stopped waiting buys nothing
        return bought

    async def _give_up(self, checkout: Checkout, step: Step | None, error: Exception) -> None:
        known = error if isinstance(error, ShopError) else Internal("internal error")
        try:
            with own_deadline(FINISH_LIMIT_S):
                if step is None:
                    await self._store.fail(checkout, Refusal.of(known))
                else:
                    await self._undo(await self._store.start_undo(checkout, step, Refusal.of(known)))
        except TakenOver:
            pass
        except Exception:
            log.warning("checkout %s could not be undone yet; recovery will try again", checkout.id, exc_info=True)
            await self._leave(checkout)

    async def _undo(self, checkout: Checkout) -> None:
        for compensation in compensations(checkout.step):
            match compensation:
                case Compensation.VOID_PAYMENT:
                    await with_retries(lambda: self._payment.void_payment(checkout.id))
                case Compensation.RELEASE_STOCK:
                    await with_retries(lambda: self._product.release_reservation(checkout.id))
        await self._store.fail(checkout, checkout.refusal or INTERRUPTED)

    async def _settle(self, checkout: Checkout) -> None:
        """Confirms the stock and captures the money in parallel, since neither call may be refused any more."""
        order_id = checkout.order_id
        if order_id is None:
            raise Internal(f"checkout {checkout.id} has no order to settle")
        with own_deadline(FINISH_LIMIT_S):
            await all_with_retries(
                lambda: self._product.confirm_reservation(checkout.id),
                lambda: self._payment.capture_payment(checkout_id=checkout.id, order_id=order_id),
            )
            await self._store.complete(checkout)

    async def _leave(self, checkout: Checkout) -> None:
        """Leaves a checkout to recovery at once; if this cannot be stored, recovery waits until the lease ends."""
        try:
            with own_deadline(1.0):
                await self._store.postpone(checkout, 0.0)
        except TakenOver:
            pass  # the checkout was never stored, or belongs to another process by now
        except ShopError:
            log.warning("checkout %s is left to recovery when its lease ends", checkout.id)
