"""Reads of one request: batched, so that no query makes a call per item, and remembered, so that none is made twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

from strawberry.dataloader import DataLoader

from graphql_gateway.order import Order
from graphql_gateway.payment import Payment
from graphql_gateway.product import Product, Review
from graphql_gateway.user import User
from shop.clients import Clients
from shop.clients import Order as ShopOrder

MOST_PER_CALL = 1000

T = TypeVar("T")


class Loaders:
    """One loader per entity, each over the batch call of its service.

    Args:
        clients: The services.
    """

    __slots__ = ("_clients", "_orders", "_payments", "_products", "_reviews", "_users")

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._products: DataLoader[int, Product | None] | None = None
        self._users: DataLoader[int, User | None] | None = None
        self._orders: DataLoader[int, Order | None] | None = None
        self._payments: DataLoader[int, Payment | None] | None = None
        self._reviews: DataLoader[tuple[int, int], list[Review]] | None = None

    def product(self, number: int) -> Awaitable[Product | None]:
        """Returns one product; None if there is none."""
        if self._products is None:
            self._products = DataLoader(self._load_products, max_batch_size=MOST_PER_CALL)
        return self._products.load(number)

    def user(self, number: int) -> Awaitable[User | None]:
        """Returns one user; None if there is none."""
        if self._users is None:
            self._users = DataLoader(self._load_users, max_batch_size=MOST_PER_CALL)
        return self._users.load(number)

    def order(self, number: int) -> Awaitable[Order | None]:
        """Returns one order; None if there is none."""
        if self._orders is None:
            self._orders = DataLoader(self._load_orders, max_batch_size=MOST_PER_CALL)
        return self._orders.load(number)

    def payment_of_order(self, order_number: int) -> Awaitable[Payment | None]:
        """Returns the payment of one order; None if there is none."""
        if self._payments is None:
            self._payments = DataLoader(self._load_payments, max_batch_size=MOST_PER_CALL)
        return self._payments.load(order_number)

    def expect_payment(self, order_number: int) -> None:
        """Begins to read the payment of an order that is about to be asked for it."""
        # If the order is not shown in the end, nobody else looks at what became of this.
        asyncio.ensure_future(self.ahead(payments=[order_number])).add_done_callback(_look_at)

    async def ahead(
        self,
        *,
        products: Iterable[int] = (),
        payments: Iterable[int] = (),
        reviews: Iterable[tuple[int, int]] = (),
    ) -> None:
        """Reads what the query is about to ask for, all at the same time.

        Its resolvers then find values, and need not wait one by one. What cannot be read is for them to say.

        Args:
            products: Ids of products.
            payments: Ids of orders whose payments are asked for.
            reviews: Ids of products whose reviews are asked for, and how many.
        """
        futures = [
            *map(self.product, products),
            *map(self.payment_of_order, payments),
            *[self.reviews(number, first) for number, first in reviews],
        ]
        await asyncio.gather(*futures, return_exceptions=True)

    def reviews(self, product_number: int, first: int) -> Awaitable[list[Review]]:
        """Returns the first reviews of one product."""
        if self._reviews is None:
            self._reviews = DataLoader(self._load_reviews, max_batch_size=MOST_PER_CALL)
        return self._reviews.load((product_number, first))

    def order_of(self, order: ShopOrder) -> Order:
        """Returns the service's order as a GraphQL object."""
        return Order.of(order)

    async def _load_products(self, numbers: list[int]) -> list[Product | None]:
        found = await self._clients.product.batch_get_products(numbers)
        return _in_order(numbers, ((product.id, Product.of(product)) for product in found))

    async def _load_users(self, numbers: list[int]) -> list[User | None]:
        found = await self._clients.user.batch_get_users(numbers)
        return _in_order(numbers, ((user.id, User.of(user)) for user in found))

    async def _load_orders(self, numbers: list[int]) -> list[Order | None]:
        found = await self._clients.order.batch_get_orders(numbers)
        return _in_order(numbers, ((order.id, Order.of(order)) for order in found))

    async def _load_payments(self, order_numbers: list[int]) -> list[Payment | None]:
        found = await self._clients.payment.batch_get_payments_by_order(order_numbers)
        return _in_order(order_numbers, ((payment.order_id, Payment.of(payment)) for payment in found))

    async def _load_reviews(self, keys: list[tuple[int, int]]) -> list[list[Review]]:
        # One call for the longest list asked for; shorter ones are its beginnings.
        products = list(dict.fromkeys(product for product, _ in keys))
        found = await self._clients.product.batch_list_reviews(products, limit=max(first for _, first in keys))
        return [[Review.of(review) for review in found.get(product, ())[:first]] for product, first in keys]


def _look_at(future: asyncio.Future[None]) -> None:
    if not future.cancelled():
        future.exception()


def _in_order(numbers: list[int], found: Iterable[tuple[int, T]]) -> list[T | None]:
    by_number = dict(found)
    return [by_number.get(number) for number in numbers]
