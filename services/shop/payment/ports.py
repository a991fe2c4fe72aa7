"""What the payment service needs: a store of payments, and a bank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from shop.money import Money
from shop.payment.domain import StoredPayment


class Bank(Protocol):
    """Reserves amounts on customers' cards."""

    def accepts(self, payment_token: str) -> bool:
        """Returns whether the bank knows tokens of this form; the bank may still decline this token."""

    async def authorize(self, amount: Money, payment_token: str) -> str:
        """Asks the bank to reserve an amount; returns the bank's reason for declining, or an empty text."""


class PaymentStore(Protocol):
    """One payment for each checkout; every change is one atomic statement."""

    async def add(self, checkout_id: str, user_id: int, amount: Money, decline_reason: str) -> StoredPayment:
        """Adds an authorised or declined payment, unless the checkout has a payment; returns the checkout's payment."""

    async def capture(self, checkout_id: str, order_id: int) -> StoredPayment | None:
        """Captures an authorised payment for an order; returns None if there is none, or it belongs to another."""

    async def void(self, checkout_id: str) -> StoredPayment:
        """Voids a payment, or adds a voided payment without an amount; a declined payment stays as it is."""

    async def of_checkout(self, checkout_id: str) -> StoredPayment | None:
        """Returns a checkout's payment."""

    async def get(self, payment_id: int) -> StoredPayment | None:
        """Returns one payment, without its user if the user's account is gone."""

    async def of_orders(self, order_ids: Sequence[int]) -> list[StoredPayment]:
        """Returns the payments of many orders with one query; a payment lacks its user if the account is gone."""
