"""The services as their callers see them, over any protocol.

Every method raises the errors of `shop.errors` that the contract names for it, and `InvalidArgument` for an argument
out of range. It raises `DeadlineExceeded` when the caller's deadline (`shop.platform.deadline`) passes, and
`Unavailable` when the service does not answer. The contract in `proto/` gives the limits and defaults.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Unpack

from shop.money import Money
from shop.values.notification import Event, Notification, Update
from shop.values.order import CheckoutLine, JoinedOrderLine, Order, OrderStatus
from shop.values.page import Page as Page
from shop.values.payment import Payment
from shop.values.product import (
    Document,
    DocumentSection,
    Product,
    ProductFields,
    ProductRow,
    Reservation,
    Review,
    ReviewedProduct,
    StockLine,
)
from shop.values.user import Address, LoginResult, User


class Catalogue(Protocol):
    """The products and their reviews."""

    async def get_product(self, product_id: int) -> Product:
        """Returns one product."""

    async def batch_get_products(self, ids: Sequence[int]) -> list[Product]:
        """Returns the products that exist, in the order of the ids."""

    async def list_products(self, *, page_size: int = 0, page_token: str = "", category: str = "") -> Page[Product]:
        """Returns a page of products by ascending id, of one category or of all."""

    async def batch_get_products_with_reviews(
        self, ids: Sequence[int], *, review_limit: int = 0
    ) -> list[ReviewedProduct]:
        """Returns the products that exist with their first reviews, in the order of the ids."""

    async def list_products_with_reviews(
        self, *, page_size: int = 0, page_token: str = "", category: str = "", review_limit: int = 0
    ) -> Page[ReviewedProduct]:
        """Returns a page of products, as `list_products` does, with their first reviews."""

    async def create_product(self, *, title: str, description: str, category: str, price: Money, stock: int) -> Product:
        """Adds a product to the catalogue."""

    async def update_product(
        self, product_id: int, *, expected: Product | None = None, **change: Unpack[ProductFields]
    ) -> Product:
        """Changes the fields that are given, if the product is still as expected; `stock` needs `expected`."""

    async def delete_product(self, product_id: int, *, expected: Product | None = None) -> None:
        """Removes a product and its reviews, if it is still as expected; not possible while stock of it is reserved."""

    async def batch_list_reviews(self, product_ids: Sequence[int], *, limit: int = 0) -> Mapping[int, Sequence[Review]]:
        """Returns the first reviews of each product by ascending id, in the order of the ids."""

    async def get_document(self, document_id: int) -> Document:
        """Returns one technical document."""


class ProductClient(Catalogue, Protocol):
    """The catalogue and its stock."""

    async def reserve_stock(self, reservation_id: str, lines: Sequence[StockLine]) -> Reservation:
        """Takes stock until it is confirmed or released: all lines or none; idempotent."""

    async def confirm_reservation(self, reservation_id: str) -> Reservation:
        """Turns held stock into sold stock; idempotent."""

    async def release_reservation(self, reservation_id: str) -> Reservation:
        """Gives stock back, held or sold; idempotent. An unknown id is remembered and refused later."""

    def stream_product_rows(self, *, after_product_id: int = 0, limit: int = 0) -> AsyncIterator[ProductRow]:
        """Yields up to `limit` product rows with a greater id, by ascending id."""


class StreamedDocuments(Protocol):
    """The part of the catalogue that only gRPC has."""

    def stream_document(self, document_id: int) -> AsyncIterator[DocumentSection]:
        """Yields the sections of one technical document in their order."""


class UserClient(Protocol):
    """Customers and their logins."""

    async def login(self, email: str, password: str) -> LoginResult:
        """Returns a token for the right password."""

    async def get_user(self, user_id: int) -> User:
        """Returns one user."""

    async def batch_get_users(self, ids: Sequence[int]) -> list[User]:
        """Returns the users that exist, in the order of the ids."""

    async def list_users(self, *, page_size: int = 0, page_token: str = "") -> Page[User]:
        """Returns a page of users by ascending id."""

    async def create_user(self, *, email: str, name: str, address: Address, password: str) -> User:
        """Adds a user."""

    async def update_user(
        self,
        user_id: int,
        *,
        name: str | None = None,
        address: Address | None = None,
        expected: User | None = None,
    ) -> User:
        """Changes the fields that are given, if the user is still as expected; None leaves a field as it is."""

    async def delete_user(self, user_id: int, *, expected: User | None = None) -> None:
        """Removes a user, if it is still as expected; the user's orders stay."""


class Orders(Protocol):
    """Orders and the checkout."""

    async def checkout(
        self, *, user_id: int, lines: Sequence[CheckoutLine], payment_token: str, idempotency_key: str
    ) -> Order:
        """Buys everything or nothing; the same key with the same body returns the first call's order."""

    async def get_order(self, order_id: int) -> Order:
        """Returns one order with its lines."""

    async def batch_get_orders(self, ids: Sequence[int]) -> list[Order]:
        """Returns the orders that exist, in the order of the ids."""

    async def list_orders_by_user(self, user_id: int, *, page_size: int = 0, page_token: str = "") -> Page[Order]:
        """Returns a page of one user's orders, newest first."""

    async def update_order_status(self, order_id: int, status: OrderStatus) -> Order:
        """Moves an order one step along CONFIRMED, SHIPPED, DELIVERED."""

    async def cancel_order(self, order_id: int) -> Order:
        """Cancels a CONFIRMED order and gives stock and money back; idempotent."""


class OrderClient(Orders, Protocol):
    """Orders, and the bulk read of their lines."""

    def stream_order_lines(self, *, after_line_id: int = 0, limit: int = 0) -> AsyncIterator[JoinedOrderLine]:
        """Yields up to `limit` order lines with a greater id, by ascending id, joined with their orders.

        A line may be stored after lines with greater ids, so a caller that continues an earlier read should overlap it.
        """


class PaymentClient(Protocol):
    """Payments of orders."""

    async def authorize_payment(self, *, checkout_id: str, user_id: int, amount: Money, payment_token: str) -> Payment:
        """Asks the bank to set an amount aside; idempotent by checkout."""

    async def capture_payment(self, *, checkout_id: str, order_id: int) -> Payment:
        """Takes an authorised amount and ties it to its order; idempotent."""

    async def void_payment(self, checkout_id: str) -> Payment:
        """Gives an amount back; idempotent, and an unknown checkout is remembered as voided."""

    async def get_payment(self, payment_id: int) -> Payment:
        """Returns one payment."""

    async def batch_get_payments_by_order(self, order_ids: Sequence[int]) -> list[Payment]:
        """Returns the payments of the orders that have one, in the order of the orders' ids."""


class Notifications(Protocol):
    """Customers' notifications about their orders, and streams of new notifications."""

    async def list_notifications(self, user_id: int) -> list[Notification]:
        """Returns what is kept of a customer's notifications, newest first."""

    async def mark_read(self, user_id: int, up_to_position: int) -> int:
        """Marks a customer's notifications as read up to a position; returns how many are left."""

    def watch_order(self, order_id: int, after: int | None = None) -> AsyncGenerator[Update]:
        """Yields what happens to an order behind a position, None for from now on, until it is closed."""

    def watch_notifications(self, user_id: int, after: int | None = None) -> AsyncGenerator[Update]:
        """Yields what happens to a customer's orders behind a position, None for from now on, until it is closed."""


class NotificationClient(Notifications, Protocol):
    """The calls of `Notifications`, and the call that stores notifications."""

    async def notify(self, events: Sequence[Event]) -> None:
        """Stores what happened to orders, once by id; those of one order must come in turn."""


@dataclass(frozen=True, slots=True)
class Clients:
    """The services as one caller sees them."""

    product: ProductClient
    user: UserClient
    order: OrderClient
    payment: PaymentClient
    notification: NotificationClient
