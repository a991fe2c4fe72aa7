"""Converts value types to Thrift's structs, for servers; their fields have the messages' names, so that the functions
which read messages read structs, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from shop.messages.order import STATUS_NUMBERS as ORDER_NUMBERS
from shop.messages.payment import STATUS_NUMBERS as PAYMENT_NUMBERS
from shop.messages.product import STATE_NUMBERS
from shop.messages.shared import money_from
from shop.money import Money
from shop.stubs.thrift import ttypes as t
from shop.values.order import JoinedOrderLine, Order
from shop.values.payment import Payment
from shop.values.product import (
    Document,
    DocumentRecord,
    DocumentSection,
    Product,
    ProductRow,
    Reservation,
    Review,
)
from shop.values.user import LoginResult, User


def money_struct(money: Money) -> Any:
    return t.Money(money.amount_minor, money.currency)


def _time_struct(moment: datetime) -> Any:
    return t.Timestamp(int(moment.timestamp()))


def product_struct(product: Product) -> Any:
    return t.Product(
        product.id,
        product.title,
        product.description,
        product.category,
        money_struct(product.price),
        product.stock,
    )


def document_struct(document: Document) -> Any:
    return t.Document(
        document.id,
        [
            t.DocumentSection(
                section.title,
                [
                    t.DocumentRecord(
                        record.text,
                        record.count,
                        record.value,
                        record.ok,
                        None if record.at is None else _time_struct(record.at),
                        None if record.price is None else money_struct(record.price),
                    )
                    for record in section.records
                ],
            )
            for section in document.sections
        ],
    )


def document_of(struct: Any) -> Document:
    """Returns the document of a struct, which unlike a message has None for what is absent."""
    return Document(
        struct.id,
        tuple(
            DocumentSection(
                section.title,
                tuple(
                    DocumentRecord(
                        record.text,
                        record.count,
                        record.value,
                        record.ok,
                        None if record.at is None else datetime.fromtimestamp(record.at.seconds, UTC),
                        None if record.price is None else money_from(record.price),
                    )
                    for record in section.records
                ),
            )
            for section in struct.sections
        ),
    )


def reviews_struct(reviews_of: Mapping[int, Sequence[Review]]) -> Any:
    return t.BatchListReviewsResponse(
        [
            t.ProductReviews(
                product_id, [t.Review(r.id, r.product_id, r.user_id, r.rating, r.title, r.body) for r in reviews]
            )
            for product_id, reviews in reviews_of.items()
        ]
    )


def reservation_struct(reservation: Reservation) -> Any:
    lines = [
        t.ReservedLine(line.product_id, line.quantity, money_struct(line.unit_price)) for line in reservation.lines
    ]
    return t.Reservation(reservation.id, STATE_NUMBERS[reservation.state], lines)


def row_struct(row: ProductRow) -> Any:
    return t.ProductRow(row.product_id, row.title, money_struct(row.price), row.stock)


def user_struct(user: User) -> Any:
    there = user.address
    address = t.Address(there.recipient, there.street, there.city, there.postal_code, there.country_code)
    return t.User(user.id, user.email, user.name, address)


def login_struct(result: LoginResult) -> Any:
    return t.LoginResponse(result.token, user_struct(result.user))


def order_struct(order: Order) -> Any:
    lines = [
        t.OrderLine(line.id, line.line_number, line.product_id, line.quantity, money_struct(line.unit_price))
        for line in order.lines
    ]
    return t.Order(
        order.id,
        order.user_id,
        ORDER_NUMBERS[order.status],
        _time_struct(order.placed_at),
        money_struct(order.total),
        lines,
    )


def joined_struct(line: JoinedOrderLine) -> Any:
    return t.JoinedOrderLine(
        line.id,
        line.order_id,
        line.user_id,
        ORDER_NUMBERS[line.status],
        _time_struct(line.placed_at),
        line.product_id,
        line.quantity,
        money_struct(line.unit_price),
    )


def payment_struct(payment: Payment) -> Any:
    return t.Payment(
        payment.id,
        payment.checkout_id,
        payment.order_id,
        PAYMENT_NUMBERS[payment.status],
        money_struct(payment.amount),
        _time_struct(payment.placed_at),
        payment.user_id,
    )
