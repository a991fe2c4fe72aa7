"""The use cases of the payment service, over a store and a bank."""

from __future__ import annotations

from collections.abc import Sequence

from shop.errors import InvalidArgument, no_such
from shop.fields import MAX_ID
from shop.money import Money
from shop.payment.bank import ANSWERS
from shop.payment.domain import decide_authorization, refused_capture
from shop.payment.ports import Bank, PaymentStore
from shop.platform import validation
from shop.values.payment import Payment


class PaymentService:
    """The use cases of payments: the methods and errors of `shop.contract.ports.PaymentClient`."""

    def __init__(self, store: PaymentStore, bank: Bank) -> None:
        self._store = store
        self._bank = bank

    async def authorize_payment(self, *, checkout_id: str, user_id: int, amount: Money, payment_token: str) -> Payment:
        # The bank is asked first and its answer stored once, so that the usual case costs one statement. If the process
        # dies in between, nothing is stored, and the checkout is settled when the caller retries or voids the payment.
        checkout = validation.uuid_text(checkout_id, "checkout_id")
        validation.identifier(user_id, "user_id")
        validation.positive_money(amount, "amount", maximum=MAX_ID)
        if not self._bank.accepts(payment_token):
            raise InvalidArgument(f"payment_token must be one of: {', '.join(ANSWERS)}", field="payment_token")
        reason = await self._bank.authorize(amount, payment_token)
        return decide_authorization(await self._store.add(checkout, user_id, amount, reason), user_id, amount)

    async def capture_payment(self, *, checkout_id: str, order_id: int) -> Payment:
        checkout = validation.uuid_text(checkout_id, "checkout_id")
        validation.identifier(order_id, "order_id")
        stored = await self._store.capture(checkout, order_id)
        if stored is None:
            raise refused_capture(checkout, order_id, await self._store.of_checkout(checkout))
        return stored.payment

    async def void_payment(self, checkout_id: str) -> Payment:
        return (await self._store.void(validation.uuid_text(checkout_id, "checkout_id"))).payment

    async def get_payment(self, payment_id: int) -> Payment:
        stored = await self._store.get(validation.identifier(payment_id, "id"))
        if stored is None:
            raise no_such("payment", payment_id)
        return stored.payment

    async def batch_get_payments_by_order(self, order_ids: Sequence[int]) -> list[Payment]:
        wanted = validation.identifiers(order_ids, "order_ids")
        payments = {stored.payment.order_id: stored.payment for stored in await self._store.of_orders(wanted)}
        return [payments[order_id] for order_id in wanted if order_id in payments]
