"""Converts the catalogue's messages to value types and back, for the server and its clients."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

from shop.messages.shared import masked, money_from, money_message
from shop.stubs import product_pb2 as pb
from shop.values.product import (
    Document,
    DocumentRecord,
    DocumentSection,
    Product,
    ProductFields,
    ProductRow,
    Reservation,
    ReservationState,
    ReservedLine,
    Review,
    StockLine,
)

CHANGEABLE = ("title", "description", "category", "price", "stock")

STATE_NUMBERS = {
    ReservationState.HELD: pb.RESERVATION_STATE_HELD,
    ReservationState.CONFIRMED: pb.RESERVATION_STATE_CONFIRMED,
    ReservationState.RELEASED: pb.RESERVATION_STATE_RELEASED,
}
_STATES = {number: state for state, number in STATE_NUMBERS.items()}


def product_message(product: Product) -> pb.Product:
    return pb.Product(
        id=product.id,
        title=product.title,
        description=product.description,
        category=product.category,
        price=money_message(product.price),
        stock=product.stock,
    )


def product_from(message: pb.Product) -> Product:
    return Product(
        message.id,
        message.title,
        message.description,
        message.category,
        money_from(message.price),
        message.stock,
    )


def change_from(message: pb.Product, mask: Iterable[str]) -> ProductFields:
    """Returns the fields of a product that an update changes.

    Raises:
        InvalidArgument: The mask is empty or names another field.
    """
    paths = masked(mask, CHANGEABLE)
    return ProductFields(
        title=message.title if "title" in paths else None,
        description=message.description if "description" in paths else None,
        category=message.category if "category" in paths else None,
        price=money_from(message.price) if "price" in paths else None,
        stock=message.stock if "stock" in paths else None,
    )


def review_message(review: Review) -> pb.Review:
    return pb.Review(
        id=review.id,
        product_id=review.product_id,
        user_id=review.user_id,
        rating=review.rating,
        title=review.title,
        body=review.body,
    )


def review_from(message: pb.Review) -> Review:
    return Review(message.id, message.product_id, message.user_id, message.rating, message.title, message.body)


def stock_line_from(message: pb.StockLine) -> StockLine:
    return StockLine(message.product_id, message.quantity)


def reservation_message(reservation: Reservation) -> pb.Reservation:
    lines = [
        pb.ReservedLine(product_id=line.product_id, quantity=line.quantity, unit_price=money_message(line.unit_price))
        for line in reservation.lines
    ]
    return pb.Reservation(id=reservation.id, state=STATE_NUMBERS[reservation.state], lines=lines)


def reservation_from(message: pb.Reservation) -> Reservation:
    lines = tuple(ReservedLine(line.product_id, line.quantity, money_from(line.unit_price)) for line in message.lines)
    return Reservation(message.id, _STATES[message.state], lines)


def row_message(row: ProductRow) -> pb.ProductRow:
    return pb.ProductRow(product_id=row.product_id, title=row.title, price=money_message(row.price), stock=row.stock)


def row_from(message: pb.ProductRow) -> ProductRow:
    return ProductRow(message.product_id, message.title, money_from(message.price), message.stock)


def document_message(document: Document) -> pb.Document:
    return pb.Document(id=document.id, sections=map(section_message, document.sections))


def document_from(message: pb.Document) -> Document:
    return Document(
        message.id,
        tuple(
            DocumentSection(section.title, tuple(map(_record_from, section.records))) for section in message.sections
        ),
    )


def section_message(section: DocumentSection) -> pb.DocumentSection:
    return pb.DocumentSection(title=section.title, records=map(_record_message, section.records))


def _record_message(record: DocumentRecord) -> pb.DocumentRecord:
    return pb.DocumentRecord(
        text=record.text,
        count=record.count,
        value=record.value,
        ok=record.ok,
        at=None if record.at is None else Timestamp(seconds=int(record.at.timestamp())),
        price=None if record.price is None else money_message(record.price),
    )


def _record_from(message: pb.DocumentRecord) -> DocumentRecord:
    return DocumentRecord(
        message.text,
        message.count,
        message.value,
        message.ok,
        datetime.fromtimestamp(message.at.seconds, UTC) if message.HasField("at") else None,
        money_from(message.price) if message.HasField("price") else None,
    )
