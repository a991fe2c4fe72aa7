"""The answers of the journeys as frozen dataclasses.

They have the fields of the reference answers. Two answers have an additional field, which the GraphQL documents request
and parity does not compare: the id of a checkout's order, and the user of an order history.
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
    id: int
    rating: int
    title: str


@dataclass(frozen=True, slots=True)
class BrowsedProduct:
    id: int
    title: str
    price: Money
    stock: int
    reviews: tuple[Review, ...]


@dataclass(frozen=True, slots=True)
class Browse:
    """The first page of a category's products."""

    products: tuple[BrowsedProduct, ...]


@dataclass(frozen=True, slots=True)
class Product:
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
    product_id: int
    title: str
    quantity: int
    unit_price: Money


@dataclass(frozen=True, slots=True)
class HistoryOrder:
    id: int
    status: str
    placed_at: datetime
    total: Money
    payment_status: str
    lines: tuple[HistoryLine, ...]


@dataclass(frozen=True, slots=True)
class OrderHistory:
    user_id: int
    orders: tuple[HistoryOrder, ...]


@dataclass(frozen=True, slots=True)
class BoughtLine:
    product_id: int
    quantity: int
    unit_price: Money


@dataclass(frozen=True, slots=True)
class Checkout:
    id: int
    status: str
    total: Money
    lines: tuple[BoughtLine, ...]


@dataclass(frozen=True, slots=True)
class Address:
    recipient: str
    street: str
    city: str
    postal_code: str
    country_code: str


@dataclass(frozen=True, slots=True)
class UpdateProfile:
    id: int
    address: Address


@dataclass(frozen=True, slots=True)
class StatusPayment:
    status: str
    amount: Money


@dataclass(frozen=True, slots=True)
class OrderStatus:
    id: int
    status: str
    total: Money
    payment: StatusPayment


@dataclass(frozen=True, slots=True)
class ExportedLine:
    """An order line with fields of its order."""

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
    """A page from the list of all order lines."""

    lines: tuple[ExportedLine, ...]


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A record of a technical document, with fields of several types, including a time and a price."""

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
"""The type of each journey's answer."""
