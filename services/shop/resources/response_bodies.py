"""The bodies of answers that are more than one service's value type, for encoding and for OpenAPI.

A value type with the fields of its JSON (a user, a review, a line of the bulk read) is encoded as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from shop.fields import INSTANT, Id, describe
from shop.money import Money
from shop.platform.rest.parameters import selecting
from shop.values.notification import Notification
from shop.values.order import JoinedOrderLine, Order
from shop.values.payment import PaidOrder, Payment, PaymentStatus
from shop.values.product import Product, ProductReviews, ProductRow, Review, ReviewedProduct
from shop.values.user import User

NextPageToken = Annotated[str, describe("Give it as `page_token` to read the next page; empty after the last page.")]
_INSIDE = "there only for callers inside the shop."


class PaymentDocument(msgspec.Struct, frozen=True):
    """The payment of one order."""

    id: Id
    order_id: PaidOrder
    status: PaymentStatus
    amount: Money


class InnerPaymentDocument(PaymentDocument, frozen=True):
    """The payment of one checkout."""

    checkout_id: Annotated[str | UnsetType, describe(f"UUID of the checkout; {_INSIDE}")] = UNSET
    user_id: Annotated[
        int | UnsetType,
        describe(f"Who pays; 0 if the account is gone, or the checkout was voided first; {_INSIDE}", minimum=0),
    ] = UNSET
    placed_at: Annotated[datetime | UnsetType, describe(f"When it was authorised; {_INSIDE}", pattern=INSTANT)] = UNSET


class ProductDocument(Product, frozen=True):
    """One thing that the shop sells."""

    reviews: Annotated[
        Sequence[Review] | UnsetType, describe("The first reviews by ascending id; there only with `include=reviews`.")
    ] = UNSET


class OrderDocument(Order, frozen=True):
    """What one user bought at one time."""

    payment: Annotated[
        PaymentDocument | UnsetType, describe("There only with `include=payment`, and if the order has one.")
    ] = UNSET
    user: Annotated[User | UnsetType, describe("There only with `include=user`.")] = UNSET
    products: Annotated[
        Sequence[ProductDocument] | UnsetType,
        describe("The products of the lines, each once, by line number; there only with `include=products`."),
    ] = UNSET


ProductFields = Annotated[str, selecting(ProductDocument)]
OrderFields = Annotated[str, selecting(OrderDocument)]


class ProductPage(msgspec.Struct, frozen=True):
    """A page of products by ascending id, or the products of `ids` in that order."""

    products: Sequence[ProductDocument]
    next_page_token: NextPageToken


class ProductRowsPage(msgspec.Struct, frozen=True):
    """A page of product rows, by ascending id."""

    rows: Sequence[ProductRow]
    next_page_token: NextPageToken


class ReviewList(msgspec.Struct, frozen=True):
    """The first reviews of each requested product, in that order, also of products without reviews and unknown ones."""

    products: Sequence[ProductReviews]


class UserPage(msgspec.Struct, frozen=True):
    """A page of users by ascending id, or the users of `ids` in that order."""

    users: Sequence[User]
    next_page_token: NextPageToken


class OrderPage(msgspec.Struct, frozen=True):
    """A page of orders, newest first."""

    orders: Sequence[OrderDocument]
    next_page_token: NextPageToken


class OrderList(msgspec.Struct, frozen=True):
    """The orders, in the order of the requested ids; unknown ids are left out."""

    orders: Sequence[OrderDocument]


class OrderLinesPage(msgspec.Struct, frozen=True):
    """A page of order lines of all orders, by ascending id."""

    lines: Sequence[JoinedOrderLine]
    next_page_token: Annotated[
        str,
        describe(
            "Give it as `page_token` to read the next page; empty when this page was not full, so that the last page "
            "may be an empty one."
        ),
    ]


class PaymentList(msgspec.Struct, frozen=True):
    """The payments, in the order of the requested orders; orders without a payment are left out."""

    payments: Sequence[PaymentDocument]


class InnerPaymentList(msgspec.Struct, frozen=True):
    """The payments, in the order of the requested orders; orders without a payment are left out."""

    payments: Sequence[InnerPaymentDocument]


class NotificationList(msgspec.Struct, frozen=True):
    """A customer's notifications, newest first: the last 100."""

    notifications: Sequence[Notification]


class Stored(msgspec.Struct, frozen=True):
    """Says that events are stored."""

    events: Annotated[int, describe("How many there were.", minimum=1)]


class Unread(msgspec.Struct, frozen=True):
    """The number of unread notifications."""

    unread: Annotated[int, describe("Number of unread notifications.", minimum=0)]


def payment_document(payment: Payment) -> PaymentDocument:
    """Returns a payment's document, without the fields that are only for the shop."""
    return PaymentDocument(payment.id, payment.order_id, payment.status, payment.amount)


def inner_payment_document(payment: Payment, *, inside: bool) -> InnerPaymentDocument:
    """Returns a payment's document; `inside` the shop, it has all fields."""
    hidden = (payment.checkout_id, payment.user_id, payment.placed_at) if inside else ()
    return InnerPaymentDocument(payment.id, payment.order_id, payment.status, payment.amount, *hidden)


def product_document(product: Product) -> ProductDocument:
    """Returns a product's document, with its reviews if it has them."""
    reviews = product.reviews if isinstance(product, ReviewedProduct) else UNSET
    return ProductDocument(
        product.id, product.title, product.description, product.category, product.price, product.stock, reviews
    )


def order_document(
    order: Order,
    payment: Payment | None = None,
    user: User | UnsetType = UNSET,
    products: Sequence[ProductDocument] | UnsetType = UNSET,
) -> OrderDocument:
    return OrderDocument(
        order.id,
        order.user_id,
        order.status,
        order.placed_at,
        order.total,
        order.lines,
        UNSET if payment is None else payment_document(payment),
        user,
        products,
    )
