"""Which payments a caller from outside may know of."""

from __future__ import annotations

from collections.abc import Iterable

from shop.errors import no_such
from shop.payment.domain import Payment
from shop.platform.access import current_caller, require_visible


def visible(payment: Payment) -> Payment:
    """Returns a payment that the call in hand may see.

    Raises:
        NotFound: It is another customer's.
    """
    require_visible(payment.user_id, no_such("payment", payment.id))
    return payment


def visible_ones(payments: Iterable[Payment]) -> list[Payment]:
    """Returns those payments that the call in hand may see."""
    caller = current_caller()
    return [payment for payment in payments if caller.may_act_for(payment.user_id)]
