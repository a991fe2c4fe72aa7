"""The bodies that are more than one service's value type, as they are encoded.

Value types whose fields are the JSON's (products, reviews, users) are encoded as they are. The lines of the bulk read
could be, too, but msgspec encodes its own structs so much faster than dataclasses that a copy of each pays: 537 µs
against 867 µs for 1,000 lines, copies included.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from shop.money import Money
from shop.order.domain import JoinedOrderLine, Order, OrderLine, OrderStatus
from shop.payment.domain import Payment, PaymentStatus
from shop.product.domain import Product, Review
from shop.user.domain import User


class MoneyDocument(msgspec.Struct, frozen=True, gc=False):
    """An amount of money."""

    amount_minor: int
    currency: str


class LineDocument(msgspec.Struct, frozen=True, gc=False):
    """An order line together with what it needs of its order."""

    id: int
    order_id: int
    user_id: int
    status: OrderStatus
    placed_at: datetime
    product_id: int
    quantity: int
    unit_price: MoneyDocument


class PaymentDocument(msgspec.Struct, frozen=True):
    """A payment as partners see it."""

    id: int
    order_id: int
    status: PaymentStatus
    amount: Money


class InnerPaymentDocument(msgspec.Struct, frozen=True):
    """A payment as the shop's own parts see it."""

    id: int
    order_id: int
    status: PaymentStatus
    amount: Money
    checkout_id: str
    user_id: int
    placed_at: datetime


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


def line_document(line: JoinedOrderLine) -> LineDocument:
    """Returns a line of the bulk read."""
    price = line.unit_price
    return LineDocument(
        line.id,
        line.order_id,
        line.user_id,
        line.status,
        line.placed_at,
        line.product_id,
        line.quantity,
        MoneyDocument(price.amount_minor, price.currency),
    )


def payment_document(payment: Payment) -> PaymentDocument:
    """Returns a payment without what concerns the shop only."""
    return PaymentDocument(payment.id, payment.order_id, payment.status, payment.amount)


def inner_payment_document(payment: Payment) -> InnerPaymentDocument:
    """Returns a payment with all that is known of it."""
    return InnerPaymentDocument(
        payment.id,
        payment.order_id,
        payment.status,
        payment.amount,
        payment.checkout_id,
        payment.user_id,
        payment.placed_at,
    )


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
