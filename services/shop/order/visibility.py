"""Which orders a caller from outside may know of."""

from __future__ import annotations

from shop.errors import no_such
from shop.order.domain import Order
from shop.platform.access import require_visible


def visible(order: Order) -> Order:
    """Returns an order that the call in hand may see.

    Raises:
        NotFound: It is another customer's.
    """
    require_visible(order.user_id, no_such("order", order.id))
    return order
