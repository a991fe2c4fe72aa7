"""A database of an earlier version keeps its rows, and the newest migrations add their data to these rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from shop.database.__main__ import run
from shop.database.migrate import migrate
from shop.database.schemas import SCHEMAS

NEWEST = [
    ("product", "0002.stock-leaves-room"),
    ("product", "0004.stocked-pieces"),
    ("user", "0002.deleted-users-and-failed-logins"),
    ("payment", "0002.payments-know-their-user"),
]


@pytest.fixture
def earlier(trial: Any) -> str:
    """The URL of a seeded database in the state before the newest migrations."""
    folders = {schema.service: schema for schema in SCHEMAS}
    with psycopg.connect(trial.url, autocommit=True) as connection:
        for service, name in NEWEST:
            schema = folders[service]
            connection.execute((schema.migrations / f"{name}.rollback.sql").read_bytes())
            connection.execute(f"DELETE FROM {schema.name}._yoyo_migration WHERE migration_id = '{name}'".encode())
        connection.execute("UPDATE shop_product.product SET stock = 9223372036854775807 WHERE id = 7")
    return str(trial.url)


def test_the_command_adds_data_to_rows_and_lets_the_services_connect(
    earlier: str, passwords: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    environment = {"SHOP_ADMIN_URL": earlier, "SHOP_ROLE_PASSWORDS": json.dumps(passwords)}
    assert run(["migrate"], environment) == 0
    assert capsys.readouterr().out.splitlines() == [f"{service}/{name}" for service, name in NEWEST]
    with psycopg.connect(earlier) as connection:
        other = connection.execute(
            "SELECT count(*) FROM shop_payment.payment p JOIN shop_order.orders o ON o.id = p.order_id "
            "WHERE p.user_id IS DISTINCT FROM o.user_id"
        ).fetchone()
        assert other == (0,)
        stock = connection.execute("SELECT stock FROM shop_product.product WHERE id = 7").fetchone()
        assert stock == (1_000_000_000,)
        uncounted = connection.execute(
            "SELECT count(*) FROM shop_product.product WHERE stocked IS DISTINCT FROM stock + sold"
        ).fetchone()
        assert uncounted == (0,)
    assert run(["migrate"], environment) == 0
    assert capsys.readouterr().out == "The schema is the newest.\n"
    role = make_conninfo(earlier, user="shop_product", password=passwords["shop_product"])
    with psycopg.connect(role) as connection:
        assert connection.execute("SELECT count(*) > 0 FROM product").fetchone() == (True,)


def test_a_service_waits_until_its_own_migrations_are_there(
    earlier: str, passwords: dict[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    migrate(earlier)
    with psycopg.connect(earlier, autocommit=True) as connection:
        connection.execute("DELETE FROM shop_product._yoyo_migration WHERE migration_id = '0002.stock-leaves-room'")
    host = conninfo_to_dict(earlier)

    def waits(service: str, password: str) -> int:
        url = f"postgresql://shop_{service}:{password}@{host['host']}:{host['port']}/{host['dbname']}"
        (tmp_path / "url").write_text(f"{url}\n")
        return run(["await", f"--service={service}", "--wait=1"], {"SHOP_DATABASE_URL_FILE": str(tmp_path / "url")})

    assert waits("product", passwords["shop_product"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"{said}: shop_product is not migrated to 0002.stock-leaves-room" for said in ("waiting", "await")
    ]
    assert waits("order", passwords["shop_order"]) == 0
    assert waits("order", "wrong") == 2
    said = capsys.readouterr().err
    assert "password authentication failed" in said
    assert "wrong" not in said
