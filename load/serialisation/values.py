"""The answers of the journeys as a program holds them: frozen dataclasses.

Their fields are those of the reference answers. Two have one more, which GraphQL's documents ask for and parity does
not compare: the id of a checkout's order, and whose the orders of a history are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in the minor unit of its currency."""

    amount_minor: int
    currency: str


@dataclass(frozen=True, slots=True)
class Review:
    """A review of a product."""

    id: int
    rating: int
    title: str


@dataclass(frozen=True, slots=True)
class BrowsedProduct:
    """One product of a page."""

    id: int
    title: str
    price: Money
    stock: int
    reviews: tuple[Review, ...]


@dataclass(frozen=True, slots=True)
class Browse:
    """The first page of a category."""

    products: tuple[BrowsedProduct, ...]


@dataclass(frozen=True, slots=True)
class Product:
    """One product."""

    id: int
    title: str
    description: str
    category: str
    price: Money
    stock: int


@dataclass(frozen=True, slots=True)
class Login:
    """The profile that a customer sees after the login."""

    id: int
    email: str
    name: str


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """One line of an order in the history."""

    product_id: int
    title: str
    quantity: int
    unit_price: Money


@dataclass(frozen=True, slots=True)
class HistoryOrder:
    """One order of the history."""

    id: int
    status: str
    placed_at: datetime
    total: Money
    payment_status: str
    lines: tuple[HistoryLine, ...]


@dataclass(frozen=True, slots=True)
class OrderHistory:
    """The newest orders of a user."""

    user_id: int
    orders: tuple[HistoryOrder, ...]


@dataclass(frozen=True, slots=True)
class BoughtLine:
    """One line of a confirmed order."""

    product_id: int
    quantity: int
    unit_price: Money


@dataclass(frozen=True, slots=True)
class Checkout:
    """A confirmed order."""

    id: int
    status: str
    total: Money
    lines: tuple[BoughtLine, ...]


@dataclass(frozen=True, slots=True)
class Address:
    """A postal address."""

    recipient: str
    street: str
    city: str
    postal_code: str
    country_code: str


@dataclass(frozen=True, slots=True)
class UpdateProfile:
    """A user with the new address."""

    id: int
    address: Address


@dataclass(frozen=True, slots=True)
class StatusPayment:
    """How an order is paid."""

    status: str
    amount: Money


@dataclass(frozen=True, slots=True)
class OrderStatus:
    """How far an order has come."""

    id: int
    status: str
    total: Money
    payment: StatusPayment


@dataclass(frozen=True, slots=True)
class ExportedLine:
    """An order line together with what it needs of its order."""

    id: int
    order_id: int
    user_id: int
    status: str
    placed_at: datetime
    product_id: int
    quantity: int
    unit_price: Money


@dataclass(frozen=True, slots=True)
class BulkLines:
    """A page of all order lines."""

    lines: tuple[ExportedLine, ...]


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """One test of a technical document that is large enough for a time and a price."""

    text: str
    count: int
    value: float
    ok: bool
    at: datetime
    price: Money


@dataclass(frozen=True, slots=True)
class DocumentSection:
    """The records below one heading."""

    title: str
    records: tuple[DocumentRecord, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A technical document."""

    id: int
    sections: tuple[DocumentSection, ...]


KINDS: Mapping[str, type] = {
    "browse": Browse,
    "product": Product,
    "login": Login,
    "order_history": OrderHistory,
    "checkout": Checkout,
    "update_profile": UpdateProfile,
    "order_status": OrderStatus,
    "bulk_lines": BulkLines,
    "document": Document,
}
"""The answer of each journey."""
