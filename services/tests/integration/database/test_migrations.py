"""A database of an earlier version keeps its rows, and gets what the newest migrations add to them."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from shop.database.migrate import migrate
from shop.database.schemas import SCHEMAS

pytestmark = pytest.mark.integration
NEWEST = {
    "product": "0002.stock-leaves-room",
    "user": "0002.deleted-users-and-failed-logins",
    "payment": "0002.payments-know-their-user",
}


@pytest.fixture
def earlier(trial: Any) -> str:
    """A seeded database as it was before the newest migrations; gives its URL."""
    folders = {schema.service: schema for schema in SCHEMAS}
    with psycopg.connect(trial.url, autocommit=True) as connection:
        for service, name in NEWEST.items():
            schema = folders[service]
            connection.execute((schema.migrations / f"{name}.rollback.sql").read_bytes())
            connection.execute(f"DELETE FROM {schema.name}._yoyo_migration WHERE migration_id = '{name}'".encode())
        connection.execute("UPDATE shop_product.product SET stock = 9223372036854775807 WHERE id = 7")
    return str(trial.url)


def test_rows_get_what_migrations_add(earlier: str) -> None:
    assert migrate(earlier) == [f"{service}/{name}" for service, name in NEWEST.items()]
    with psycopg.connect(earlier) as connection:
        other = connection.execute(
            "SELECT count(*) FROM shop_payment.payment p JOIN shop_order.orders o ON o.id = p.order_id "
            "WHERE p.user_id IS DISTINCT FROM o.user_id"
        ).fetchone()
        assert other == (0,)
        stock = connection.execute("SELECT stock FROM shop_product.product WHERE id = 7").fetchone()
        assert stock == (1_000_000_000,)
    assert migrate(earlier) == []
