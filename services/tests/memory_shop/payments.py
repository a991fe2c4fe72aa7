"""Payments in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from memory_shop.store import MemoryService, check_batch, check_id
from shop.errors import FailedPrecondition, InvalidArgument, NotFound, PaymentDeclined
from shop.money import Money
from shop.payment.domain import Payment, PaymentStatus

_PLACED_AT = datetime(2026, 1, 1, tzinfo=UTC)
_TOKENS = {"tok_ok": True, "tok_declined": False, "tok_insufficient_funds": False}


class MemoryPayments(MemoryService):
    """`PaymentClient` over the store."""

    async def authorize_payment(self, *, checkout_id: str, user_id: int, amount: Money, payment_token: str) -> Payment:
        await self.called("authorize_payment")
        if payment_token not in _TOKENS:
            valid = ", ".join(_TOKENS)
            raise InvalidArgument(f"payment_token is unknown; {valid} are valid", field="payment_token")
        if not _TOKENS[payment_token]:
            raise PaymentDeclined("the bank declined the payment", field="payment_token")
        known = self._by_checkout(checkout_id)
        if known is not None:
            if known.status is PaymentStatus.VOIDED or (known.user_id, known.amount) != (user_id, amount):
                raise FailedPrecondition("the checkout was voided or has another user or amount", field="checkout_id")
            return known
        id_ = max(self.store.payments, default=0) + 1
        return self._keep(Payment(id_, checkout_id, 0, user_id, PaymentStatus.AUTHORIZED, amount, _PLACED_AT))

    async def capture_payment(self, *, checkout_id: str, order_id: int) -> Payment:
        await self.called("capture_payment")
        known = self._by_checkout(checkout_id)
        if known is None or known.status not in (PaymentStatus.AUTHORIZED, PaymentStatus.CAPTURED):
            raise FailedPrecondition("the checkout has no authorised payment", field="checkout_id")
        return self._keep(replace(known, status=PaymentStatus.CAPTURED, order_id=order_id))

    async def void_payment(self, checkout_id: str) -> Payment:
        await self.called("void_payment")
        known = self._by_checkout(checkout_id)
        if known is None:
            id_ = max(self.store.payments, default=0) + 1
            known = Payment(id_, checkout_id, 0, 0, PaymentStatus.VOIDED, Money(0, "EUR"), _PLACED_AT)
        return self._keep(replace(known, status=PaymentStatus.VOIDED))

    async def get_payment(self, payment_id: int) -> Payment:
        await self.called("get_payment")
        check_id(payment_id, "id")
        payment = self.store.payments.get(payment_id)
        if payment is None:
            raise NotFound(f"there is no payment {payment_id}", field="id")
        return self._shown(payment)

    async def batch_get_payments_by_order(self, order_ids: Sequence[int]) -> list[Payment]:
        await self.called("batch_get_payments_by_order")
        found = {payment.order_id: payment for payment in self.store.payments.values()}
        return [self._shown(found[id_]) for id_ in check_batch(order_ids, "order_ids") if id_ in found]

    def _by_checkout(self, checkout_id: str) -> Payment | None:
        return next((one for one in self.store.payments.values() if one.checkout_id == checkout_id), None)

    def _shown(self, payment: Payment) -> Payment:
        return replace(payment, user_id=self.store.owner(payment.user_id))

    def _keep(self, payment: Payment) -> Payment:
        self.store.payments[payment.id] = payment
        return payment
