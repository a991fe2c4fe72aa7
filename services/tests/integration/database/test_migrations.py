"""A database of an earlier version keeps its rows, and gets what the newest migrations add to them."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from shop.database.__main__ import run
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


def test_the_command_migrates_the_database_itself_and_lets_the_services_in(
    earlier: str, passwords: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    environment = {"SHOP_ADMIN_URL": earlier, "SHOP_ROLE_PASSWORDS": json.dumps(passwords)}
    assert run(["migrate"], environment) == 0
    assert capsys.readouterr().out.splitlines() == [f"{service}/{name}" for service, name in NEWEST.items()]
    assert run(["migrate"], environment) == 0
    assert capsys.readouterr().out == "The schema is the newest.\n"
    role = make_conninfo(earlier, user="shop_product", password=passwords["shop_product"])
    with psycopg.connect(role) as connection:
        assert connection.execute("SELECT count(*) > 0 FROM product").fetchone() == (True,)
