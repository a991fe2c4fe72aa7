"""What the payment service needs: a store of payments, and a bank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from shop.money import Money
from shop.payment.domain import StoredPayment


class Bank(Protocol):
    """Sets amounts aside on customers' cards."""

    def accepts(self, payment_token: str) -> bool:
        """Whether the token has a form that the bank knows; it may still be declined."""

    async def authorize(self, amount: Money, payment_token: str) -> str:
        """Asks for an amount.

        Returns:
            Why the bank declines; empty if it does not.
        """


class PaymentStore(Protocol):
    """One payment for each checkout; every change is one atomic statement."""

    async def add(self, checkout_id: str, user_id: int, amount: Money, decline_reason: str) -> StoredPayment:
        """Adds an authorised or declined payment, unless the checkout has one; returns the one that is there then."""

    async def capture(self, checkout_id: str, order_id: int) -> StoredPayment | None:
        """Takes an authorised payment for an order; None if there is no such payment, or the order has another one."""

    async def void(self, checkout_id: str) -> StoredPayment:
        """Gives a payment back, or adds a voided one of no amount if the checkout has none; a declined one stays."""

    async def of_checkout(self, checkout_id: str) -> StoredPayment | None:
        """Returns a checkout's payment."""

    async def get(self, payment_id: int) -> StoredPayment | None:
        """Returns one payment; it is nobody's if its user's account is gone."""

    async def of_orders(self, order_ids: Sequence[int]) -> list[StoredPayment]:
        """Returns the payments of many orders by one query; those of accounts that are gone are nobody's."""
