"""The port through which resolvers read the services by identifier."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from graphql_gateway.order import Order
    from graphql_gateway.payment import Payment
    from graphql_gateway.product import Product, Review
    from graphql_gateway.user import User


class Reads(Protocol):
    """What resolvers read of the services by identifier; None stands for what is not there."""

    def product(self, number: int) -> Awaitable[Product | None]:
        """Returns one product."""

    def user(self, number: int) -> Awaitable[User | None]:
        """Returns one user."""

    def order(self, number: int) -> Awaitable[Order | None]:
        """Returns one order."""

    def payment_of_order(self, order_number: int) -> Awaitable[Payment | None]:
        """Returns the payment of one order."""

    def reviews(self, product_number: int, first: int) -> Awaitable[list[Review]]:
        """Returns the first reviews of one product."""

    def expect_payment(self, order_number: int) -> None:
        """Tells that the payment of an order is about to be asked for, while the order is still being read."""

    async def ahead(
        self,
        *,
        products: Iterable[int] = (),
        payments_of_orders: Iterable[int] = (),
        reviews: Iterable[tuple[int, int]] = (),
    ) -> None:
        """Reads what resolvers are about to ask for, so that they have it at once; failures are left to them.

        Args:
            products: Numbers of products.
            payments_of_orders: Numbers of the orders whose payments are asked for.
            reviews: Numbers of the products whose reviews are asked for, and how many reviews of each.
        """
