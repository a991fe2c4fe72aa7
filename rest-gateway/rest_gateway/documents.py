"""The bodies that are more than one service's value type, as they are encoded.

Value types whose fields are the JSON's (products, reviews, users, joined order lines) are encoded as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from shop.clients import Order, OrderLine, OrderStatus, Payment, PaymentStatus, Product, Review, User
from shop.money import Money


class PaymentDocument(msgspec.Struct, frozen=True):
    """A payment as partners see it."""

    id: int
    order_id: int
    status: PaymentStatus
    amount: Money


class ProductDocument(msgspec.Struct, frozen=True, omit_defaults=True):
    """A product with its reviews."""

    id: int
    title: str
    description: str
    category: str
    price: Money
    stock: int
    reviews: Sequence[Review] | None = None


class OrderDocument(msgspec.Struct, frozen=True, omit_defaults=True):
    """An order with what was asked for besides; None is left out."""

    id: int
    user_id: int
    status: OrderStatus
    placed_at: datetime
    total: Money
    lines: Sequence[OrderLine]
    payment: PaymentDocument | None = None
    user: User | None = None
    products: Sequence[Product] | None = None


def payment_document(payment: Payment) -> PaymentDocument:
    """Returns a payment without what concerns the shop only."""
    return PaymentDocument(payment.id, payment.order_id, payment.status, payment.amount)


def product_document(product: Product, reviews: Sequence[Review]) -> ProductDocument:
    """Returns a product with its reviews."""
    return ProductDocument(
        product.id, product.title, product.description, product.category, product.price, product.stock, reviews
    )


def order_document(
    order: Order,
    payment: Payment | None = None,
    user: User | None = None,
    products: Sequence[Product] | None = None,
) -> OrderDocument:
    """Returns an order with what was asked for besides."""
    return OrderDocument(
        order.id,
        order.user_id,
        order.status,
        order.placed_at,
        order.total,
        order.lines,
        payment_document(payment) if payment is not None else None,
        user,
        products,
    )
