"""Answers as the GraphQL gateway sends them: the whole response to the generator's document."""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from serialisation import answer_types

Document = dict[str, Any]


def build(journey: str) -> Callable[[Any], Document]:
    """Returns the function that makes the response from a journey's answer."""
    make, _ = _JOURNEYS[journey]
    return lambda answer: {"data": make(answer)}


def read(journey: str) -> Callable[[Document], Any]:
    """Returns the function that reads a journey's answer from the response."""
    _, take = _JOURNEYS[journey]
    return lambda document: take(document["data"])


def _build_browse(answer: answer_types.Browse) -> Document:
    edges = [
        {
            "node": {
                "id": _id("Product", product.id),
                "title": product.title,
                "stock": product.stock,
                "price": _money(product.price),
                "reviews": [
                    {"id": _id("Review", review.id), "rating": review.rating, "title": review.title}
                    for review in product.reviews
                ],
            }
        }
        for product in answer.products
    ]
    return {"products": {"edges": edges}}


def _read_browse(data: Document) -> answer_types.Browse:
    return answer_types.Browse(
        tuple(
            answer_types.BrowsedProduct(
                _number(node["id"]),
                node["title"],
                _money_from(node["price"]),
                node["stock"],
                tuple(
                    answer_types.Review(_number(review["id"]), review["rating"], review["title"])
                    for review in node["reviews"]
                ),
            )
            for node in _nodes(data["products"])
        )
    )


def _build_product(answer: answer_types.Product) -> Document:
    node = {
        "id": _id("Product", answer.id),
        "title": answer.title,
        "description": answer.description,
        "category": answer.category,
        "stock": answer.stock,
        "price": _money(answer.price),
    }
    return {"product": node}


def _read_product(data: Document) -> answer_types.Product:
    node = data["product"]
    return answer_types.Product(
        _number(node["id"]),
        node["title"],
        node["description"],
        node["category"],
        _money_from(node["price"]),
        node["stock"],
    )


def _build_login(answer: answer_types.Login) -> Document:
    return {"me": {"id": _id("User", answer.id), "email": answer.email, "name": answer.name}}


def _read_login(data: Document) -> answer_types.Login:
    user = data["me"]
    return answer_types.Login(_number(user["id"]), user["email"], user["name"])


def _build_order_history(answer: answer_types.OrderHistory) -> Document:
    edges = [
        {
            "node": {
                "id": _id("Order", order.id),
                "status": order.status,
                "placedAt": _time(order.placed_at),
                "total": _money(order.total),
                "payment": {"status": order.payment_status},
                "lines": [
                    {
                        "lineNumber": number,
                        "quantity": line.quantity,
                        "unitPrice": _money(line.unit_price),
                        "product": {"id": _id("Product", line.product_id), "title": line.title},
                    }
                    for number, line in enumerate(order.lines, 1)
                ],
            }
        }
        for order in answer.orders
    ]
    return {"me": {"id": _id("User", answer.user_id), "orders": {"edges": edges}}}


def _read_order_history(data: Document) -> answer_types.OrderHistory:
    user = data["me"]
    orders = tuple(
        answer_types.HistoryOrder(
            _number(node["id"]),
            node["status"],
            datetime.fromisoformat(node["placedAt"]),
            _money_from(node["total"]),
            node["payment"]["status"],
            tuple(
                answer_types.HistoryLine(
                    _number(line["product"]["id"]),
                    line["product"]["title"],
                    line["quantity"],
                    _money_from(line["unitPrice"]),
                )
                for line in node["lines"]
            ),
        )
        for node in _nodes(user["orders"])
    )
    return answer_types.OrderHistory(_number(user["id"]), orders)


def _build_checkout(answer: answer_types.Checkout) -> Document:
    lines = [
        {
            "lineNumber": number,
            "quantity": line.quantity,
            "unitPrice": _money(line.unit_price),
            "product": {"id": _id("Product", line.product_id)},
        }
        for number, line in enumerate(answer.lines, 1)
    ]
    order = {"id": _id("Order", answer.id), "status": answer.status, "total": _money(answer.total), "lines": lines}
    return {"checkout": {"order": order}}


def _read_checkout(data: Document) -> answer_types.Checkout:
    order = data["checkout"]["order"]
    lines = tuple(
        answer_types.BoughtLine(_number(line["product"]["id"]), line["quantity"], _money_from(line["unitPrice"]))
        for line in order["lines"]
    )
    return answer_types.Checkout(_number(order["id"]), order["status"], _money_from(order["total"]), lines)


def _build_update_profile(answer: answer_types.UpdateProfile) -> Document:
    address = answer.address
    shown = {
        "recipient": address.recipient,
        "street": address.street,
        "city": address.city,
        "postalCode": address.postal_code,
        "countryCode": address.country_code,
    }
    return {"updateProfile": {"user": {"id": _id("User", answer.id), "address": shown}}}


def _read_update_profile(data: Document) -> answer_types.UpdateProfile:
    user = data["updateProfile"]["user"]
    shown = user["address"]
    address = answer_types.Address(
        shown["recipient"], shown["street"], shown["city"], shown["postalCode"], shown["countryCode"]
    )
    return answer_types.UpdateProfile(_number(user["id"]), address)


def _build_order_status(answer: answer_types.OrderStatus) -> Document:
    order = {
        "id": _id("Order", answer.id),
        "status": answer.status,
        "total": _money(answer.total),
        "payment": {"status": answer.payment.status, "amount": _money(answer.payment.amount)},
    }
    return {"order": order}


def _read_order_status(data: Document) -> answer_types.OrderStatus:
    order = data["order"]
    payment = answer_types.StatusPayment(order["payment"]["status"], _money_from(order["payment"]["amount"]))
    return answer_types.OrderStatus(_number(order["id"]), order["status"], _money_from(order["total"]), payment)


def _build_bulk_lines(answer: answer_types.BulkLines) -> Document:
    edges = [
        {
            "node": {
                "id": _id("OrderLine", line.id),
                "quantity": line.quantity,
                "unitPrice": _money(line.unit_price),
                "product": {"id": _id("Product", line.product_id)},
                "order": {
                    "id": _id("Order", line.order_id),
                    "status": line.status,
                    "placedAt": _time(line.placed_at),
                    "user": {"id": _id("User", line.user_id)},
                },
            }
        }
        for line in answer.lines
    ]
    return {"orderLines": {"edges": edges}}


def _read_bulk_lines(data: Document) -> answer_types.BulkLines:
    return answer_types.BulkLines(
        tuple(
            answer_types.ExportedLine(
                _number(node["id"]),
                _number(node["order"]["id"]),
                _number(node["order"]["user"]["id"]),
                node["order"]["status"],
                datetime.fromisoformat(node["order"]["placedAt"]),
                _number(node["product"]["id"]),
                node["quantity"],
                _money_from(node["unitPrice"]),
            )
            for node in _nodes(data["orderLines"])
        )
    )


def _build_document(answer: answer_types.Document) -> Document:
    sections = [
        {
            "title": section.title,
            "records": [
                {
                    "text": record.text,
                    "count": record.count,
                    "value": record.value,
                    "ok": record.ok,
                    "at": _time(record.at),
                    "price": _money(record.price),
                }
                for record in section.records
            ],
        }
        for section in answer.sections
    ]
    return {"document": {"id": _id("Document", answer.id), "sections": sections}}


def _read_document(data: Document) -> answer_types.Document:
    node = data["document"]
    sections = tuple(
        answer_types.DocumentSection(
            section["title"],
            tuple(
                answer_types.DocumentRecord(
                    record["text"],
                    record["count"],
                    record["value"],
                    record["ok"],
                    datetime.fromisoformat(record["at"]),
                    _money_from(record["price"]),
                )
                for record in section["records"]
            ),
        )
        for section in node["sections"]
    )
    return answer_types.Document(_number(node["id"]), sections)


_JOURNEYS: Mapping[str, tuple[Callable[[Any], Document], Callable[[Document], Any]]] = {
    "browse": (_build_browse, _read_browse),
    "product": (_build_product, _read_product),
    "login": (_build_login, _read_login),
    "order_history": (_build_order_history, _read_order_history),
    "checkout": (_build_checkout, _read_checkout),
    "update_profile": (_build_update_profile, _read_update_profile),
    "order_status": (_build_order_status, _read_order_status),
    "bulk_lines": (_build_bulk_lines, _read_bulk_lines),
    "document": (_build_document, _read_document),
}


def _nodes(connection: Document) -> list[Document]:
    return [edge["node"] for edge in connection["edges"]]


def _id(kind: str, number: int) -> str:
    return b2a_base64(f"{kind}:{number}".encode(), newline=False).decode()


def _number(given: str) -> int:
    return int(a2b_base64(given).decode().partition(":")[2])


def _money(money: answer_types.Money) -> Document:
    return {"amountMinor": money.amount_minor, "currency": money.currency}


def _money_from(shown: Document) -> answer_types.Money:
    return answer_types.Money(shown["amountMinor"], shown["currency"])


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")[:19] + "Z"
