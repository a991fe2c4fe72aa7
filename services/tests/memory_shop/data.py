"""The initial data of a shop in memory: nothing, or demo data like the seed's."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from shop.money import Money
from shop.values.order import MAX_LINES, Order, OrderLine, OrderStatus
from shop.values.payment import Payment, PaymentStatus
from shop.values.product import MAX_RECORDS, MAX_SECTIONS, Document, DocumentRecord, DocumentSection, Product, Review
from shop.values.user import Address, User

DEMO_PASSWORD = "hopwise-demo"
PLACED_AT = datetime(2026, 1, 1, tzinfo=UTC)
_STATUSES = (OrderStatus.CONFIRMED, OrderStatus.SHIPPED, OrderStatus.DELIVERED, OrderStatus.CANCELLED)


@dataclass
class Data:
    """The rows of a shop, each list by ascending id; every user has the password `DEMO_PASSWORD`."""

    products: list[Product] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)
    users: list[User] = field(default_factory=list)
    orders: list[Order] = field(default_factory=list)
    payments: list[Payment] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)

    @classmethod
    def demo(cls, *, products: int = 200, users: int = 20, regulars: int = 5) -> Data:
        """Returns data like the seed's: 100 products per category, 3 reviews per product, 10 orders for each of the
        first users, the `regulars`."""
        data = cls(
            products=[_product(id_) for id_ in range(1, products + 1)],
            reviews=[_review(id_, (id_ + 2) // 3, 1 + id_ % users) for id_ in range(1, 3 * products + 1)],
            users=[_user(id_) for id_ in range(1, users + 1)],
        )
        line_id = 1
        for id_ in range(1, 10 * regulars + 1):
            order = _order(id_, 1 + (id_ - 1) % regulars, line_id, products)
            line_id += len(order.lines)
            data.orders.append(order)
            voided = order.status is OrderStatus.CANCELLED
            data.payments.append(
                Payment(
                    id=id_,
                    checkout_id=checkout_id(id_),
                    order_id=id_,
                    user_id=order.user_id,
                    status=PaymentStatus.VOIDED if voided else PaymentStatus.CAPTURED,
                    amount=order.total,
                    placed_at=order.placed_at,
                )
            )
        return data

    @classmethod
    def largest(cls, *, lines: int = MAX_LINES) -> Data:
        """Returns data with lists of maximum length: 50 orders of one user, 20 reviews per product, and a document."""
        data = cls.demo(products=2 * MAX_LINES, users=100, regulars=5)
        data.reviews = [_review(id_, 1 + id_ % 100, 1 + id_ % 100) for id_ in range(1, 2_001)]
        for place, order in enumerate(data.orders):
            bought = tuple(
                replace(order.lines[0], id=1_000 * order.id + number, line_number=number, product_id=number)
                for number in range(1, lines + 1)
            )
            data.orders[place] = replace(order, user_id=1, lines=bought)
            data.payments[place] = replace(data.payments[place], user_id=1, status=PaymentStatus.CAPTURED)
        data.documents = [_largest_document()]
        return data


def _largest_document() -> Document:
    record = DocumentRecord("text", 1, 0.5, True, PLACED_AT, Money(1, "EUR"))
    return Document(1, (DocumentSection("title", (record,) * MAX_RECORDS),) * MAX_SECTIONS)


def checkout_id(order_id: int) -> str:
    """Returns the id of an order's reservation and payment."""
    return str(uuid.UUID(int=order_id))


def _product(id_: int) -> Product:
    price = Money(100 + id_ * 37 % 99_900, "EUR")
    return Product(id_, f"Product {id_}", f"What product {id_} is.", f"c{(id_ - 1) // 100:04d}", price, 1000 + id_)


def _review(id_: int, product_id: int, user_id: int) -> Review:
    return Review(id_, product_id, user_id, 1 + id_ % 5, f"Review {id_}", f"What review {id_} says.")


def _user(id_: int) -> User:
    address = Address(f"User {id_}", f"Example Street {id_}", "Springfield", f"{10000 + id_}", "DE")
    return User(id_, f"user{id_}@example.com", f"User {id_}", address)


def _order(id_: int, user_id: int, line_id: int, products: int) -> Order:
    lines = tuple(
        OrderLine(
            id=line_id + position,
            line_number=position + 1,
            product_id=(product_id := 1 + (id_ * 7 + position) % products),
            quantity=1 + position % 2,
            unit_price=_product(product_id).price,
        )
        for position in range(1 + id_ % 5)
    )
    total = Money(sum(line.unit_price.amount_minor * line.quantity for line in lines), "EUR")
    placed_at = PLACED_AT - timedelta(days=1000) + timedelta(hours=id_)
    return Order(id_, user_id, _STATUSES[id_ % 4], placed_at, total, lines)
