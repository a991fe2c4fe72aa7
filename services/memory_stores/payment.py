"""Payments in memory, filled from their table: they show what a call costs without its database."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from datetime import UTC, datetime

from msgspec.structs import replace

from memory_stores.loading import in_memory
from shop.money import Money
from shop.payment.domain import NOTHING, StoredPayment
from shop.payment.postgres import COLUMNS, stored_of
from shop.platform.database.pool import Connection
from shop.values.payment import Payment, PaymentStatus

PAYMENTS = f"SELECT {COLUMNS} FROM payment"  # noqa: S608 - a list of columns
GONE = "SELECT id FROM shop_shared.deleted_user"


class MemoryPayments:
    def __init__(self, payments: Iterable[StoredPayment] = (), gone: Set[int] = frozenset()) -> None:
        self._of_checkout: dict[str, StoredPayment] = {}
        self._checkouts: dict[int, str] = {}
        self._checkout_of_order: dict[int, str] = {}
        self._gone = gone
        self._last_id = 0
        for stored in payments:
            self._keep(stored)

    @classmethod
    async def load(cls, connection: Connection) -> MemoryPayments:
        payments = [stored_of(row) for row in await connection.fetch(PAYMENTS)]
        return cls(payments, frozenset(row[0] for row in await connection.fetch(GONE)))

    async def add(self, checkout_id: str, user_id: int, amount: Money, decline_reason: str) -> StoredPayment:
        status = PaymentStatus.DECLINED if decline_reason else PaymentStatus.AUTHORIZED
        return self._of_checkout.get(checkout_id) or self._new(checkout_id, user_id, status, amount, decline_reason)

    async def capture(self, checkout_id: str, order_id: int) -> StoredPayment | None:
        stored = self._of_checkout.get(checkout_id)
        if stored is None or self._checkout_of_order.get(order_id, checkout_id) != checkout_id:
            return None
        payment = stored.payment
        if payment.status is PaymentStatus.AUTHORIZED:
            return self._keep(replace(stored, payment=_move(payment, PaymentStatus.CAPTURED, order_id)))
        return stored if (payment.status, payment.order_id) == (PaymentStatus.CAPTURED, order_id) else None

    async def void(self, checkout_id: str) -> StoredPayment:
        stored = self._of_checkout.get(checkout_id)
        if stored is None:
            return self._new(checkout_id, 0, PaymentStatus.VOIDED, NOTHING)
        payment = stored.payment
        if payment.status is PaymentStatus.DECLINED:
            return stored
        return self._keep(replace(stored, payment=_move(payment, PaymentStatus.VOIDED, payment.order_id)))

    async def of_checkout(self, checkout_id: str) -> StoredPayment | None:
        return self._of_checkout.get(checkout_id)

    async def get(self, payment_id: int) -> StoredPayment | None:
        checkout_id = self._checkouts.get(payment_id)
        return None if checkout_id is None else self._hide_gone_user(checkout_id)

    async def of_orders(self, order_ids: Sequence[int]) -> list[StoredPayment]:
        checkouts = (self._checkout_of_order.get(order_id) for order_id in order_ids)
        return [self._hide_gone_user(checkout_id) for checkout_id in checkouts if checkout_id is not None]

    def _new(
        self, checkout_id: str, user_id: int, status: PaymentStatus, amount: Money, decline_reason: str = ""
    ) -> StoredPayment:
        placed_at = datetime.now(UTC).replace(microsecond=0)
        payment = Payment(self._last_id + 1, checkout_id, 0, user_id, status, amount, placed_at)
        return self._keep(StoredPayment(payment, decline_reason))

    def _keep(self, stored: StoredPayment) -> StoredPayment:
        payment = stored.payment
        self._of_checkout[payment.checkout_id] = stored
        self._checkouts[payment.id] = payment.checkout_id
        if payment.order_id:
            self._checkout_of_order[payment.order_id] = payment.checkout_id
        self._last_id = max(self._last_id, payment.id)
        return stored

    def _hide_gone_user(self, checkout_id: str) -> StoredPayment:
        """Returns a payment as callers see it: it outlives its user's account, and then belongs to nobody."""
        stored = self._of_checkout[checkout_id]
        if stored.payment.user_id not in self._gone:
            return stored
        return replace(stored, payment=replace(stored.payment, user_id=0))


def _move(payment: Payment, status: PaymentStatus, order_id: int) -> Payment:
    return replace(payment, status=status, order_id=order_id)


open_store = in_memory(MemoryPayments.load)
