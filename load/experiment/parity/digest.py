"""Digests of a database's tables, to compare the effects of writes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import psycopg

TABLES: Mapping[str, str] = {
    "product": "SELECT id, title, description, category, price_minor, currency, stock, sold FROM shop_product.product",
    "review": "SELECT id, product_id, user_id, rating, title, body FROM shop_product.review",
    "reservation": "SELECT r.state, l.product_id, l.quantity, l.unit_price_minor, l.currency, count(*) "
    "FROM shop_product.reservation r JOIN shop_product.reservation_line l ON l.reservation_id = r.id "
    "GROUP BY 1, 2, 3, 4, 5",
    "account": "SELECT id, email, name, recipient, street, city, postal_code, country_code FROM shop_user.account",
    "order": "SELECT id, user_id, status, total_minor, currency FROM shop_order.orders",
    "order_line": "SELECT id, order_id, line_number, product_id, quantity, unit_price_minor FROM shop_order.order_line",
    "checkout": "SELECT user_id, idempotency_key, state, step, order_id FROM shop_order.checkout",
    "payment": "SELECT id, order_id, status, amount_minor, currency FROM shop_payment.payment",
}
"""Queries for the columns of each table that must be equal after the same writes. Columns that vary between runs are
left out: names of checkouts, timestamps, the process that drove a saga."""


def digests(connection: psycopg.Connection[tuple[object, ...]]) -> dict[str, str]:
    """Returns the SHA-256 of every table's rows, sorted so that the order of the writes does not matter."""
    hashes = {}
    for table, rows in TABLES.items():
        digest = hashlib.sha256()
        with connection.cursor() as cursor:
            query = f'SELECT t::text FROM ({rows}) t ORDER BY t::text COLLATE "C"'  # noqa: S608 - our own constants
            for (row,) in cursor.execute(query.encode()):
                digest.update(str(row).encode() + b"\n")
        hashes[table] = digest.hexdigest()
    return hashes
