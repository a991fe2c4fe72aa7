"""What callers need of each service, whatever protocol is underneath.

Every method raises the errors of `shop.errors` that the contract names for it, `InvalidArgument` for an argument
out of range, `DeadlineExceeded` when the caller's deadline (`shop.platform.deadline`) passes, and `Unavailable`
when the service does not answer. Limits and defaults are those of the contract in `proto/`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from shop.money import Money
from shop.order.domain import CheckoutLine, JoinedOrderLine, Order, OrderStatus
from shop.payment.domain import Payment
from shop.product.domain import Product, ProductRow, Reservation, Review, StockLine
from shop.user.domain import Address, LoginResult, User

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a listing; `next_page_token` is empty after the last page."""

    items: tuple[T, ...]
    next_page_token: str


class ProductClient(Protocol):
    """The catalogue and its stock."""

    async def get_product(self, product_id: int) -> Product: ...
    async def batch_get_products(self, ids: Sequence[int]) -> list[Product]: ...
    async def list_products(self, *, page_size: int = 0, page_token: str = "", category: str = "") -> Page[Product]: ...
    async def create_product(
        self, *, title: str, description: str, category: str, price: Money, stock: int
    ) -> Product: ...
    async def update_product(
        self,
        product_id: int,
        *,
        title: str | None = None,
        description: str | None = None,
        category: str | None = None,
        price: Money | None = None,
        stock: int | None = None,
    ) -> Product: ...
    async def delete_product(self, product_id: int) -> None: ...
    async def batch_list_reviews(
        self, product_ids: Sequence[int], *, limit: int = 0
    ) -> dict[int, tuple[Review, ...]]: ...
    async def reserve_stock(self, reservation_id: str, lines: Sequence[StockLine]) -> Reservation: ...
    async def confirm_reservation(self, reservation_id: str) -> Reservation: ...
    async def release_reservation(self, reservation_id: str) -> Reservation: ...
    def stream_product_rows(self, *, after_product_id: int = 0, limit: int = 0) -> AsyncIterator[ProductRow]: ...


class UserClient(Protocol):
    """Customers and their logins."""

    async def login(self, email: str, password: str) -> LoginResult: ...
    async def get_user(self, user_id: int) -> User: ...
    async def batch_get_users(self, ids: Sequence[int]) -> list[User]: ...
    async def list_users(self, *, page_size: int = 0, page_token: str = "") -> Page[User]: ...
    async def create_user(self, *, email: str, name: str, address: Address, password: str) -> User: ...
    async def update_user(self, user_id: int, *, name: str | None = None, address: Address | None = None) -> User: ...
    async def delete_user(self, user_id: int) -> None: ...


class OrderClient(Protocol):
    """Orders and the checkout."""

    async def checkout(
        self, *, user_id: int, lines: Sequence[CheckoutLine], payment_token: str, idempotency_key: str
    ) -> Order: ...
    async def get_order(self, order_id: int) -> Order: ...
    async def batch_get_orders(self, ids: Sequence[int]) -> list[Order]: ...
    async def list_orders_by_user(self, user_id: int, *, page_size: int = 0, page_token: str = "") -> Page[Order]: ...
    async def update_order_status(self, order_id: int, status: OrderStatus) -> Order: ...
    async def cancel_order(self, order_id: int) -> Order: ...
    def stream_order_lines(self, *, after_line_id: int = 0, limit: int = 0) -> AsyncIterator[JoinedOrderLine]: ...


class PaymentClient(Protocol):
    """Payments of orders."""

    async def authorize_payment(
        self, *, checkout_id: str, user_id: int, amount: Money, payment_token: str
    ) -> Payment: ...
    async def capture_payment(self, *, checkout_id: str, order_id: int) -> Payment: ...
    async def void_payment(self, checkout_id: str) -> Payment: ...
    async def get_payment(self, payment_id: int) -> Payment: ...
    async def batch_get_payments_by_order(self, order_ids: Sequence[int]) -> list[Payment]: ...


@dataclass(frozen=True, slots=True)
class Clients:
    """The four services as one caller sees them."""

    product: ProductClient
    user: UserClient
    order: OrderClient
    payment: PaymentClient
