"""A service's role reads and writes the rows of its schema, and nothing else."""

from __future__ import annotations

import contextlib
from typing import Any

import psycopg
import pytest

from mesh.components.postgres import Database
from shop.database.roles import set_passwords
from shop.database.schemas import MONITOR, SCHEMAS

SERVICES = [schema.service for schema in SCHEMAS]
TABLES = {
    "product": ("product", "review", "reservation", "reservation_line"),
    "user": ("account", "failed_login"),
    "order": ("orders", "order_line", "checkout", "cancellation", "outbox"),
    "payment": ("payment",),
    "notification": ("mailbox", "notification"),
}


def assert_refused(url: str, statement: str) -> None:
    with contextlib.closing(psycopg.connect(url)) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(statement.encode())


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_finds_its_tables_without_naming_the_schema(service: str, shared_trial: Any) -> None:
    with contextlib.closing(psycopg.connect(shared_trial.role_url(service))) as connection:
        for table in TABLES[service]:
            connection.execute(f"SELECT * FROM {table} LIMIT 1".encode())
            connection.execute(f"DELETE FROM {table} WHERE false".encode())


@pytest.mark.parametrize("other", SERVICES)
@pytest.mark.parametrize("service", SERVICES)
def test_a_service_may_not_look_into_another_one(service: str, other: str, shared_trial: Any) -> None:
    if service == other:
        return
    for table in TABLES[other]:
        assert_refused(shared_trial.role_url(service), f"SELECT * FROM shop_{other}.{table}")
        assert_refused(shared_trial.role_url(service), f"DELETE FROM shop_{other}.{table}")


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize(
    "statement",
    [
        *("CREATE TABLE mine (id int)", "CREATE TABLE public.mine (id int)", "CREATE TEMPORARY TABLE mine (id int)"),
        *("CREATE SCHEMA mine", "CREATE ROLE mine", "CREATE DATABASE mine"),
        *("DROP TABLE {table}", "ALTER TABLE {table} ADD COLUMN mine int", "TRUNCATE {table}"),
        *("SELECT * FROM shop_audit.seeded", "SELECT * FROM _yoyo_migration"),
        *("COPY {table} TO PROGRAM 'true'", "SELECT setval('{table}_id_seq', 1)"),
    ],
)
def test_a_service_may_not_change_more_than_rows(service: str, statement: str, shared_trial: Any) -> None:
    table = {"user": "account", "order": "orders"}.get(service, service)
    url = shared_trial.role_url(service)
    with (
        contextlib.closing(psycopg.connect(url, autocommit=True)) as connection,
        pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedTable)),
    ):
        connection.execute(statement.format(table=table).encode())


@pytest.mark.parametrize("service", SERVICES)
def test_every_wait_in_the_database_has_a_limit(service: str, shared_trial: Any) -> None:
    with contextlib.closing(psycopg.connect(shared_trial.role_url(service))) as connection:
        for setting in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
            assert connection.execute("SELECT current_setting(%s)", [setting]).fetchone() != ("0",)


@pytest.mark.parametrize("service", SERVICES)
def test_rights_on_the_ids_of_deleted_users(service: str, shared_trial: Any) -> None:
    allowed = {"user": ("SELECT", "INSERT"), "product": ()}.get(service, ("SELECT",))
    statements = {
        "SELECT": "SELECT id FROM shop_shared.deleted_user",
        "INSERT": "INSERT INTO shop_shared.deleted_user SELECT 1 WHERE false",
        "UPDATE": "UPDATE shop_shared.deleted_user SET id = 1 WHERE false",
        "DELETE": "DELETE FROM shop_shared.deleted_user WHERE false",
        "TRUNCATE": "TRUNCATE shop_shared.deleted_user",
        "CREATE": "CREATE TABLE shop_shared.mine (id int)",
    }
    for privilege, statement in statements.items():
        if privilege in allowed:
            with contextlib.closing(psycopg.connect(shared_trial.role_url(service))) as connection:
                connection.execute(statement.encode())
        else:
            assert_refused(shared_trial.role_url(service), statement)


def test_the_monitor_reads_counts_and_no_row(admin: psycopg.Connection[Any], admin_url: str, shop_url: str) -> None:
    server = Database(admin_url, embedded=True)
    for _ in range(2):  # in the second round, the role already exists
        set_passwords(admin, {MONITOR: server.password(MONITOR)})
    inside = server.url(MONITOR, shop_url.rpartition("/")[2])
    with contextlib.closing(psycopg.connect(inside, autocommit=True)) as connection:
        hidden = "SELECT count(*) FROM pg_stat_activity WHERE query = '<insufficient privilege>'"
        assert connection.execute(hidden).fetchone() == (0,)
        assert connection.execute("SELECT pg_database_size(current_database()) > 0").fetchone() == (True,)
    for statement in ("SELECT * FROM shop_user.account", "CREATE TABLE shop_user.mine ()", "CREATE ROLE mine"):
        assert_refused(inside, statement)
