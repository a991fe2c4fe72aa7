"""A shop whose services answer at once, with values that were made beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import cast

from shop.clients.ports import Clients, OrderClient, Page, PaymentClient, ProductClient, UserClient
from shop.money import Money
from shop.order.domain import Order, OrderLine, OrderStatus
from shop.payment.domain import Payment, PaymentStatus
from shop.product.domain import Product, Review

USER = 1
CATEGORY = "c0001"
ORDERS = 10
_PRODUCTS_A_PAGE = 20
_REVIEWS_A_PRODUCT = 3
_MOST_LINES = 5  # an order has 1 to 5 lines in turn, as many as in the seeded shop
_PLACED_AT = datetime(2025, 3, 4, tzinfo=UTC)


def _product(number: int) -> Product:
    price = Money(100 + 37 * number, "EUR")
    return Product(number, f"Product {number} of the shop", "What it is.", CATEGORY, price, 1000 + number)


def _reviews(product: int) -> tuple[Review, ...]:
    return tuple(
        Review(_REVIEWS_A_PRODUCT * product + place, product, place + 1, 1 + place, f"Review {place}", "What it says.")
        for place in range(_REVIEWS_A_PRODUCT)
    )


def _order(number: int) -> Order:
    lines = tuple(
        OrderLine(_MOST_LINES * number + place, place + 1, 1 + (7 * number + place) % 100, 2, Money(1999, "EUR"))
        for place in range(1 + number % _MOST_LINES)
    )
    total = Money(2 * 1999 * len(lines), "EUR")
    return Order(number, USER, OrderStatus.DELIVERED, _PLACED_AT - timedelta(days=number), total, lines)


def _payment(order: Order) -> Payment:
    return Payment(order.id, "", order.id, USER, PaymentStatus.CAPTURED, order.total, order.placed_at)


class _Products:
    def __init__(self) -> None:
        self._products = {number: _product(number) for number in range(1, 101)}
        self._reviews = {number: _reviews(number) for number in self._products}
        self._page = Page(tuple(self._products.values())[:_PRODUCTS_A_PAGE], "token-of-the-next-page")

    async def list_products(self, *, page_size: int = 0, page_token: str = "", category: str = "") -> Page[Product]:  # noqa: ARG002
        return self._page

    async def batch_get_products(self, ids: Sequence[int]) -> list[Product]:
        return [self._products[number] for number in ids]

    async def batch_list_reviews(self, product_ids: Sequence[int], *, limit: int = 0) -> Mapping[int, Sequence[Review]]:  # noqa: ARG002
        return {number: self._reviews[number] for number in product_ids}


class _Orders:
    def __init__(self, orders: Sequence[Order]) -> None:
        self._page = Page(tuple(orders), "")

    async def list_orders_by_user(self, user_id: int, *, page_size: int = 0, page_token: str = "") -> Page[Order]:  # noqa: ARG002
        return self._page


class _Payments:
    def __init__(self, payments: Sequence[Payment]) -> None:
        self._by_order = {payment.order_id: payment for payment in payments}

    async def batch_get_payments_by_order(self, order_ids: Sequence[int]) -> list[Payment]:
        return [self._by_order[number] for number in order_ids]


def prepared_clients() -> Clients:
    """Returns the services, with the calls that the benchmark's documents lead to."""
    orders = [_order(number) for number in range(1, ORDERS + 1)]
    return Clients(
        product=cast(ProductClient, _Products()),
        user=cast(UserClient, None),
        order=cast(OrderClient, _Orders(orders)),
        payment=cast(PaymentClient, _Payments([_payment(order) for order in orders])),
    )
