"""Which orders a caller from outside may know of."""

from __future__ import annotations

from shop.errors import NotFound
from shop.order.domain import Order
from shop.platform.access import may_see


def visible(order: Order) -> Order:
    """Returns an order that the call in hand may see; whether another number is in use is not its business either.

    Raises:
        NotFound: It is another customer's.
    """
    if not may_see(order.user_id):
        raise NotFound(f"there is no order {order.id}", field="id")
    return order
