"""Reads for one request: batched, so that no query makes a call per item, and cached, so that no read is repeated."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from strawberry.dataloader import DataLoader

from graphql_gateway.objects.entities import Order, Payment, Product, Review, User
from shop.contract.ports import Clients, Page
from shop.errors import NotFound
from shop.platform.validation import MAX_IDS
from shop.values.product import Product as ShopProduct

K = TypeVar("K")
T = TypeVar("T")
V = TypeVar("V")


class BatchedReads:
    """One loader for each kind of read, over the batch call of its service."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._loaders: dict[object, DataLoader[Any, Any]] = {}

    def product(self, number: int, reviews: int = 0, /) -> Awaitable[Product | None]:
        if reviews:
            return self._load(self._read_reviewed, (number, reviews))
        return self._load(self._read_products, number)

    async def product_page(
        self, reviews: int, /, *, page_size: int, page_token: str, category: str
    ) -> Page[ShopProduct]:
        client = self._clients.product
        if not reviews:
            return await client.list_products(page_size=page_size, page_token=page_token, category=category)
        page = await client.list_products_with_reviews(
            page_size=page_size, page_token=page_token, category=category, review_limit=reviews
        )
        items: tuple[ShopProduct, ...] = page.items
        return Page(items, page.next_page_token)

    def user(self, number: int) -> Awaitable[User | None]:
        return self._load(self._read_users, number)

    def order(self, number: int) -> Awaitable[Order | None]:
        return self._load(self._read_orders, number)

    def payment_of_order(self, order_number: int) -> Awaitable[Payment | None]:
        return self._load(self._read_payments, order_number)

    def reviews(self, product_number: int, first: int) -> Awaitable[list[Review]]:
        return self._load(self._read_reviews, (product_number, first))

    def expect_payment(self, order_number: int) -> None:
        # If the answer does not include the order after all, nothing else retrieves this result.
        asyncio.ensure_future(self.payment_of_order(order_number)).add_done_callback(_look_at)

    async def ahead(self, *, products: Iterable[int] = (), payments_of_orders: Iterable[int] = ()) -> None:
        # Start all before awaiting the first: the reads through one loader share a call, and the calls run in parallel.
        readings = [
            *[self.product(number) for number in products],
            *[self.payment_of_order(number) for number in payments_of_orders],
        ]
        for reading in readings:
            try:
                await reading  # all reads that share a call end at the same time
            except asyncio.CancelledError:
                if (task := asyncio.current_task()) is not None and task.cancelling():
                    for other in readings:
                        asyncio.ensure_future(other).cancel()
                    raise
            except Exception:  # noqa: S110 - the resolver that needs it gets the failure
                pass

    def _load(self, read: Callable[[list[K]], Awaitable[list[V]]], key: K) -> Awaitable[V]:
        """Returns what a read gives for a key; concurrent keys of one read share its call."""
        if read not in self._loaders:
            self._loaders[read] = DataLoader(read, max_batch_size=MAX_IDS)
        return self._loaders[read].load(key)

    async def _read_products(self, numbers: list[int]) -> list[Product | None]:
        products = await self._clients.product.batch_get_products(numbers)
        return _in_order(numbers, {product.id: Product.of(product) for product in products})

    async def _read_reviewed(self, keys: list[tuple[int, int]]) -> list[Product | None]:
        # One call for the longest list in the query; shorter lists are prefixes of that list.
        numbers = [number for number, _ in keys]
        longest = max(reviews for _, reviews in keys)
        products = await self._clients.product.batch_get_products_with_reviews(
            list(dict.fromkeys(numbers)), review_limit=longest
        )
        return _in_order(numbers, {product.id: Product.of(product, longest) for product in products})

    async def _read_users(self, numbers: list[int]) -> list[User | None]:
        users = await self._clients.user.batch_get_users(numbers)
        return _in_order(numbers, {user.id: User.of(user) for user in users})

    async def _read_orders(self, numbers: list[int]) -> list[Order | None]:
        orders = await self._clients.order.batch_get_orders(numbers)
        return _in_order(numbers, {order.id: Order.of(order, self) for order in orders})

    async def _read_payments(self, order_numbers: list[int]) -> list[Payment | None]:
        payments = await self._clients.payment.batch_get_payments_by_order(order_numbers)
        return _in_order(order_numbers, {payment.order_id: Payment.of(payment) for payment in payments})

    async def _read_reviews(self, keys: list[tuple[int, int]]) -> list[list[Review]]:
        # One call for the longest requested list; shorter lists are prefixes of that list.
        products = list(dict.fromkeys(product for product, _ in keys))
        reviews = await self._clients.product.batch_list_reviews(products, limit=max(first for _, first in keys))
        return [[Review.of(review) for review in reviews.get(product, ())[:first]] for product, first in keys]


class SingleReads:
    """Makes a call for each read, as in a gateway without loaders: the naive variant, never the default."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients

    def product(self, number: int, _reviews: int = 0, /) -> Awaitable[Product | None]:
        return _or_none(self._clients.product.get_product(number), Product.of)

    def user(self, number: int) -> Awaitable[User | None]:
        return _or_none(self._clients.user.get_user(number), User.of)

    def order(self, number: int) -> Awaitable[Order | None]:
        return _or_none(self._clients.order.get_order(number), lambda order: Order.of(order, self))

    async def payment_of_order(self, order_number: int) -> Payment | None:
        for payment in await self._clients.payment.batch_get_payments_by_order([order_number]):
            return Payment.of(payment)
        return None

    async def product_page(
        self, _reviews: int, /, *, page_size: int, page_token: str, category: str
    ) -> Page[ShopProduct]:
        return await self._clients.product.list_products(page_size=page_size, page_token=page_token, category=category)

    async def reviews(self, product_number: int, first: int) -> list[Review]:
        reviews = await self._clients.product.batch_list_reviews([product_number], limit=first)
        return [Review.of(review) for review in reviews.get(product_number, ())]

    def expect_payment(self, order_number: int) -> None:
        """Does nothing: each read waits for its turn."""

    async def ahead(self, *, products: Iterable[int] = (), payments_of_orders: Iterable[int] = ()) -> None:
        """Does nothing: every resolver reads for itself."""


async def _or_none(call: Awaitable[V], to_node: Callable[[V], T]) -> T | None:
    try:
        return to_node(await call)
    except NotFound:
        return None


def _look_at(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()


def _in_order(numbers: list[int], by_number: dict[int, T]) -> list[T | None]:
    return [by_number.get(number) for number in numbers]
