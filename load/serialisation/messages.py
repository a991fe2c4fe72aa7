"""Answers as messages of the contract, with the fields that the journey reads.

Protobuf's messages and Thrift's structs have the same names and fields, so one description fits both. A journey that
calls several methods has a message from each method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from google.protobuf import timestamp_pb2

from serialisation import answer_types
from shop.stubs import address_pb2, money_pb2, order_pb2, payment_pb2, product_pb2, user_pb2
from shop.stubs.thrift import ttypes

Build = Callable[[Any], list[Any]]
Read = Callable[[Sequence[Any]], Any]

_MODULES = (address_pb2, money_pb2, order_pb2, payment_pb2, product_pb2, timestamp_pb2, user_pb2)
PROTOBUF = SimpleNamespace(
    **{name: getattr(module, name) for module in _MODULES for name in module.DESCRIPTOR.message_types_by_name}
)
"""Protobuf's messages by their names."""
THRIFT = ttypes
"""Thrift's structs by their names."""
PARTS = {
    "browse": ("ListProductsWithReviewsResponse",),
    "product": ("Product",),
    "login": ("User",),
    "order_history": ("ListOrdersByUserResponse", "BatchGetProductsResponse", "BatchGetPaymentsByOrderResponse"),
    "checkout": ("Order",),
    "update_profile": ("User",),
    "order_status": ("Order", "BatchGetPaymentsByOrderResponse"),
    "bulk_lines": ("StreamOrderLinesResponse",),
    "document": ("Document",),
}
"""The messages of each journey's answer."""
_ORDER = {name.removeprefix("ORDER_STATUS_"): number for name, number in order_pb2.OrderStatus.items()}
_PAYMENT = {name.removeprefix("PAYMENT_STATUS_"): number for name, number in payment_pb2.PaymentStatus.items()}
_ORDER_BACK = {number: name for name, number in _ORDER.items()}
_PAYMENT_BACK = {number: name for name, number in _PAYMENT.items()}


class Messages:
    """Converts answers to messages, whose types are in a namespace, and back."""

    def __init__(self, kinds: Any) -> None:
        self._kinds = kinds

    def types(self, journey: str) -> list[Any]:
        return [getattr(self._kinds, name) for name in PARTS[journey]]

    def build(self, journey: str) -> Build:
        """Returns the function that makes the messages of a journey's answer."""
        build: Build = getattr(self, f"_build_{journey}")
        return build

    def read(self, journey: str) -> Read:
        """Returns the function that reads a journey's answer from its messages."""
        read: Read = getattr(self, f"_read_{journey}")
        return read

    # The names of a journey's functions end with its name.

    def _build_browse(self, answer: answer_types.Browse) -> list[Any]:
        kinds = self._kinds
        products = [
            kinds.ReviewedProduct(
                id=product.id,
                title=product.title,
                price=self._money(product.price),
                stock=product.stock,
                reviews=[
                    kinds.Review(id=review.id, rating=review.rating, title=review.title) for review in product.reviews
                ],
            )
            for product in answer.products
        ]
        return [kinds.ListProductsWithReviewsResponse(products=products)]

    def _read_browse(self, messages: Sequence[Any]) -> answer_types.Browse:
        [page] = messages
        return answer_types.Browse(
            tuple(
                answer_types.BrowsedProduct(
                    product.id,
                    product.title,
                    _money_from(product.price),
                    product.stock,
                    tuple(answer_types.Review(review.id, review.rating, review.title) for review in product.reviews),
                )
                for product in page.products
            )
        )

    def _build_product(self, answer: answer_types.Product) -> list[Any]:
        return [
            self._kinds.Product(
                id=answer.id,
                title=answer.title,
                description=answer.description,
                category=answer.category,
                price=self._money(answer.price),
                stock=answer.stock,
            )
        ]

    def _read_product(self, messages: Sequence[Any]) -> answer_types.Product:
        (product,) = messages
        return answer_types.Product(
            product.id, product.title, product.description, product.category, _money_from(product.price), product.stock
        )

    def _build_login(self, answer: answer_types.Login) -> list[Any]:
        return [self._kinds.User(id=answer.id, email=answer.email, name=answer.name)]

    def _read_login(self, messages: Sequence[Any]) -> answer_types.Login:
        (user,) = messages
        return answer_types.Login(user.id, user.email, user.name)

    def _build_order_history(self, answer: answer_types.OrderHistory) -> list[Any]:
        kinds = self._kinds
        orders = [
            kinds.Order(
                id=order.id,
                user_id=answer.user_id,
                status=_ORDER[order.status],
                create_time=self._time(order.placed_at),
                total=self._money(order.total),
                lines=self._lines(order.lines),
            )
            for order in answer.orders
        ]
        titles = {line.product_id: line.title for order in answer.orders for line in order.lines}
        products = [kinds.Product(id=number, title=title) for number, title in titles.items()]
        payments = [kinds.Payment(order_id=order.id, status=_PAYMENT[order.payment_status]) for order in answer.orders]
        return [
            kinds.ListOrdersByUserResponse(orders=orders),
            kinds.BatchGetProductsResponse(products=products),
            kinds.BatchGetPaymentsByOrderResponse(payments=payments),
        ]

    def _read_order_history(self, messages: Sequence[Any]) -> answer_types.OrderHistory:
        listed, joined, paid = messages
        titles = {product.id: product.title for product in joined.products}
        statuses = {payment.order_id: _PAYMENT_BACK[payment.status] for payment in paid.payments}
        orders = tuple(
            answer_types.HistoryOrder(
                order.id,
                _ORDER_BACK[order.status],
                _time_from(order.create_time),
                _money_from(order.total),
                statuses[order.id],
                tuple(
                    answer_types.HistoryLine(
                        line.product_id, titles[line.product_id], line.quantity, _money_from(line.unit_price)
                    )
                    for line in order.lines
                ),
            )
            for order in listed.orders
        )
        return answer_types.OrderHistory(listed.orders[0].user_id, orders)

    def _build_checkout(self, answer: answer_types.Checkout) -> list[Any]:
        return [
            self._kinds.Order(
                id=answer.id,
                status=_ORDER[answer.status],
                total=self._money(answer.total),
                lines=self._lines(answer.lines),
            )
        ]

    def _read_checkout(self, messages: Sequence[Any]) -> answer_types.Checkout:
        (order,) = messages
        lines = tuple(
            answer_types.BoughtLine(line.product_id, line.quantity, _money_from(line.unit_price))
            for line in order.lines
        )
        return answer_types.Checkout(order.id, _ORDER_BACK[order.status], _money_from(order.total), lines)

    def _build_update_profile(self, answer: answer_types.UpdateProfile) -> list[Any]:
        address = answer.address
        made = self._kinds.Address(
            recipient=address.recipient,
            street=address.street,
            city=address.city,
            postal_code=address.postal_code,
            country_code=address.country_code,
        )
        return [self._kinds.User(id=answer.id, address=made)]

    def _read_update_profile(self, messages: Sequence[Any]) -> answer_types.UpdateProfile:
        (user,) = messages
        there = user.address
        address = answer_types.Address(there.recipient, there.street, there.city, there.postal_code, there.country_code)
        return answer_types.UpdateProfile(user.id, address)

    def _build_order_status(self, answer: answer_types.OrderStatus) -> list[Any]:
        kinds, payment = self._kinds, answer.payment
        order = kinds.Order(id=answer.id, status=_ORDER[answer.status], total=self._money(answer.total))
        paid = kinds.Payment(order_id=answer.id, status=_PAYMENT[payment.status], amount=self._money(payment.amount))
        return [order, kinds.BatchGetPaymentsByOrderResponse(payments=[paid])]

    def _read_order_status(self, messages: Sequence[Any]) -> answer_types.OrderStatus:
        order, paid = messages
        (payment,) = paid.payments
        return answer_types.OrderStatus(
            order.id,
            _ORDER_BACK[order.status],
            _money_from(order.total),
            answer_types.StatusPayment(_PAYMENT_BACK[payment.status], _money_from(payment.amount)),
        )

    def _build_bulk_lines(self, answer: answer_types.BulkLines) -> list[Any]:
        kinds = self._kinds
        lines = [
            kinds.JoinedOrderLine(
                id=line.id,
                order_id=line.order_id,
                user_id=line.user_id,
                status=_ORDER[line.status],
                create_time=self._time(line.placed_at),
                product_id=line.product_id,
                quantity=line.quantity,
                unit_price=self._money(line.unit_price),
            )
            for line in answer.lines
        ]
        return [kinds.StreamOrderLinesResponse(lines=lines)]

    def _read_bulk_lines(self, messages: Sequence[Any]) -> answer_types.BulkLines:
        (page,) = messages
        return answer_types.BulkLines(
            tuple(
                answer_types.ExportedLine(
                    line.id,
                    line.order_id,
                    line.user_id,
                    _ORDER_BACK[line.status],
                    _time_from(line.create_time),
                    line.product_id,
                    line.quantity,
                    _money_from(line.unit_price),
                )
                for line in page.lines
            )
        )

    def _build_document(self, answer: answer_types.Document) -> list[Any]:
        kinds = self._kinds
        sections = [
            kinds.DocumentSection(
                title=section.title,
                records=[
                    kinds.DocumentRecord(
                        text=record.text,
                        count=record.count,
                        value=record.value,
                        ok=record.ok,
                        at=self._time(record.at),
                        price=self._money(record.price),
                    )
                    for record in section.records
                ],
            )
            for section in answer.sections
        ]
        return [kinds.Document(id=answer.id, sections=sections)]

    def _read_document(self, messages: Sequence[Any]) -> answer_types.Document:
        (document,) = messages
        sections = tuple(
            answer_types.DocumentSection(
                section.title,
                tuple(
                    answer_types.DocumentRecord(
                        record.text,
                        record.count,
                        record.value,
                        record.ok,
                        _time_from(record.at),
                        _money_from(record.price),
                    )
                    for record in section.records
                ),
            )
            for section in document.sections
        )
        return answer_types.Document(document.id, sections)

    def _lines(self, lines: Sequence[answer_types.HistoryLine | answer_types.BoughtLine]) -> list[Any]:
        return [
            self._kinds.OrderLine(
                line_number=number,
                product_id=line.product_id,
                quantity=line.quantity,
                unit_price=self._money(line.unit_price),
            )
            for number, line in enumerate(lines, 1)
        ]

    def _money(self, money: answer_types.Money) -> Any:
        return self._kinds.Money(amount_minor=money.amount_minor, currency=money.currency)

    def _time(self, moment: datetime) -> Any:
        return self._kinds.Timestamp(seconds=int(moment.timestamp()))


def _money_from(message: Any) -> answer_types.Money:
    return answer_types.Money(message.amount_minor, message.currency)


def _time_from(message: Any) -> datetime:
    return datetime.fromtimestamp(message.seconds, UTC)
