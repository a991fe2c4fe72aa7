"""Computes the answer that every journey must get, from the data itself.

The answers come from SQL over the seeded database instead of a topology, which also reveals errors that all topologies
share. Prices in the answer to a checkout come from the catalogue; the rest comes from the checkout's own request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

import psycopg
from psycopg.rows import dict_row

Answer = dict[str, Any]

PAGE_OF_PRODUCTS = 20
REVIEWS_OF_PRODUCT = 3
ORDERS_OF_HISTORY = 10
LINES_OF_BULK = 1000


class Reference:
    """Reference answers from one database; the connection may read all four schemas."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._cursor = connection.cursor(row_factory=dict_row)

    def answer(self, journey: str, params: Mapping[str, Any]) -> Answer:
        """Returns a journey's canonical answer; raises LookupError if the journey, a parameter or a row is unknown."""
        answer: Callable[[Mapping[str, Any]], Answer] | None = getattr(self, f"_answer_{journey}", None)
        if answer is None:
            raise KeyError(journey)
        return answer(params)

    # Each of these methods is named after the journey whose answer it returns.

    def _answer_browse(self, params: Mapping[str, Any]) -> Answer:
        products = self._rows(
            "SELECT id, title, price_minor, currency, stock FROM shop_product.product WHERE category = %s "
            "ORDER BY id LIMIT %s",
            params["category"],
            PAGE_OF_PRODUCTS,
        )
        reviews = self._rows(
            "SELECT id, product_id, rating, title FROM shop_product.review WHERE product_id = ANY(%s) ORDER BY id",
            [product["id"] for product in products],
        )
        return {
            "products": [
                {
                    **_only(product, "id", "title", "stock"),
                    "price": _price(product),
                    "reviews": [
                        _only(review, "id", "rating", "title")
                        for review in reviews
                        if review["product_id"] == product["id"]
                    ][:REVIEWS_OF_PRODUCT],
                }
                for product in products
            ]
        }

    def _answer_product(self, params: Mapping[str, Any]) -> Answer:
        row = self._row("SELECT * FROM shop_product.product WHERE id = %s", params["product_id"])
        return {**_only(row, "id", "title", "description", "category", "stock"), "price": _price(row)}

    def _answer_product_card(self, params: Mapping[str, Any]) -> Answer:
        return _only(self._answer_product(params), "id", "title", "price")

    def _answer_product_feed(self, params: Mapping[str, Any]) -> Answer:
        products = self._answer_browse(params)["products"]
        return {"products": [_only(product, "id", "price", "stock") for product in products]}

    def _answer_order_list(self, params: Mapping[str, Any]) -> Answer:
        orders = self._answer_order_history(params)["orders"]
        return {"orders": [_only(order, "id", "placed_at", "status", "total") for order in orders]}

    def _answer_login(self, params: Mapping[str, Any]) -> Answer:
        return self._row("SELECT id, email, name FROM shop_user.account WHERE id = %s", params["user_id"])

    def _answer_order_history(self, params: Mapping[str, Any]) -> Answer:
        orders = self._rows(
            "SELECT o.*, p.status AS payment_status FROM shop_order.orders o "
            "LEFT JOIN shop_payment.payment p ON p.order_id = o.id WHERE o.user_id = %s ORDER BY o.id DESC LIMIT %s",
            params["user_id"],
            ORDERS_OF_HISTORY,
        )
        lines = self._rows(
            "SELECT l.*, p.title FROM shop_order.order_line l JOIN shop_product.product p ON p.id = l.product_id "
            "WHERE l.order_id = ANY(%s) ORDER BY l.line_number",
            [order["id"] for order in orders],
        )
        return {
            "orders": [
                {
                    **_only(order, "id", "status", "payment_status"),
                    "placed_at": _time(order["placed_at"]),
                    "total": _money(order["total_minor"], order["currency"]),
                    "lines": [
                        {
                            **_only(line, "product_id", "title", "quantity"),
                            "unit_price": _money(line["unit_price_minor"], order["currency"]),
                        }
                        for line in lines
                        if line["order_id"] == order["id"]
                    ],
                }
                for order in orders
            ]
        }

    def _answer_checkout(self, params: Mapping[str, Any]) -> Answer:
        wanted: Sequence[Mapping[str, Any]] = params["lines"]
        prices = {
            row["id"]: (row["price_minor"], row["currency"])
            for row in self._rows(
                "SELECT id, price_minor, currency FROM shop_product.product WHERE id = ANY(%s)",
                [line["product_id"] for line in wanted],
            )
        }
        total = sum(prices[line["product_id"]][0] * line["quantity"] for line in wanted)
        return {
            "status": "CONFIRMED",
            "total": _money(total, prices[wanted[0]["product_id"]][1]),
            "lines": [
                {**_only(line, "product_id", "quantity"), "unit_price": _money(*prices[line["product_id"]])}
                for line in wanted
            ],
        }

    def _answer_update_profile(self, params: Mapping[str, Any]) -> Answer:
        return {"id": params["user_id"], "address": dict(params["address"])}

    def _answer_order_status(self, params: Mapping[str, Any]) -> Answer:
        row = self._row(
            "SELECT o.id, o.status, o.total_minor, o.currency, p.status AS payment_status, p.amount_minor, "
            "p.currency AS payment_currency FROM shop_order.orders o JOIN shop_payment.payment p ON p.order_id = o.id "
            "WHERE o.id = %s",
            params["order_id"],
        )
        paid = _money(row["amount_minor"], row["payment_currency"])
        return {
            **_only(row, "id", "status"),
            "total": _money(row["total_minor"], row["currency"]),
            "payment": {"status": row["payment_status"], "amount": paid},
        }

    def _answer_bulk_lines(self, params: Mapping[str, Any]) -> Answer:
        rows = self._rows(
            "SELECT l.id, l.order_id, o.user_id, o.status, o.placed_at, l.product_id, l.quantity, l.unit_price_minor, "
            "o.currency FROM shop_order.order_line l JOIN shop_order.orders o ON o.id = l.order_id "
            "WHERE l.id > %s ORDER BY l.id LIMIT %s",
            params["after_line_id"],
            LINES_OF_BULK,
        )
        return {
            "lines": [
                {
                    **_only(row, "id", "order_id", "user_id", "status", "product_id", "quantity"),
                    "placed_at": _time(row["placed_at"]),
                    "unit_price": _money(row["unit_price_minor"], row["currency"]),
                }
                for row in rows
            ]
        }

    def _answer_notifications(self, params: Mapping[str, Any]) -> Answer:
        notifications = self._rows(
            "SELECT * FROM shop_notification.notification WHERE user_id = %s ORDER BY position DESC", params["user_id"]
        )
        return {
            "notifications": [
                {**_only(row, "position", "order_id", "status", "read"), "created_at": _time(row["happened_at"])}
                for row in notifications
            ]
        }

    def _answer_document(self, params: Mapping[str, Any]) -> Answer:
        rows = self._rows(
            "SELECT * FROM shop_product.document_record WHERE document_id = %s ORDER BY number", params["document_id"]
        )
        return {
            "id": params["document_id"],
            "sections": [
                {"title": title, "records": [_record(row) for row in records]}
                for title, records in groupby(rows, key=itemgetter("section"))
            ],
        }

    def _rows(self, query: str, *values: object) -> list[dict[str, Any]]:
        return self._cursor.execute(query.encode(), values).fetchall()

    def _row(self, query: str, *values: object) -> dict[str, Any]:
        rows = self._rows(query, *values)
        if len(rows) != 1:
            raise LookupError(f"{len(rows)} rows instead of one for {values}")
        return rows[0]


def _only(resource: Mapping[str, Any], *fields: str) -> Answer:
    return {field: resource[field] for field in fields}


def _record(row: Mapping[str, Any]) -> Answer:
    record = _only(row, "text", "count", "value", "ok")
    if row["at"] is not None:
        record["at"] = _time(row["at"])
    if row["price_minor"] is not None:
        record["price"] = _price(row)
    return record


def _price(row: Mapping[str, Any]) -> Answer:
    return _money(row["price_minor"], row["currency"])


def _money(amount_minor: int, currency: str) -> Answer:
    return {"amount_minor": amount_minor, "currency": currency}


def _time(value: datetime) -> str:
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
