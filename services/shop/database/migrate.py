"""Migrates a database to the newest schema: one schema and one least-privilege role per service."""

from __future__ import annotations

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

# yoyo ships no types.
from yoyo import read_migrations  # type: ignore[import-untyped]
from yoyo.backends.core.postgresql import PostgresqlPsycopgBackend  # type: ignore[import-untyped]
from yoyo.connections import DatabaseURI  # type: ignore[import-untyped]
from yoyo.migrations import default_migration_table  # type: ignore[import-untyped]

from shop.database.schemas import SCHEMAS, ServiceSchema

ROLE_LIMITS = {"statement_timeout": "15s", "lock_timeout": "5s", "idle_in_transaction_session_timeout": "15s"}
"""Limits that end a wait inside the database, even if the waiting process has gone."""
AUDIT_SCHEMA = "shop_audit"


def migrate(admin_url: str) -> list[str]:
    """Creates the roles and schemas, and applies the missing migrations.

    Returns:
        The migrations applied now, `service/name`, in order; empty if the database was up to date.

    Raises:
        psycopg.Error: The database does not answer or refused a statement.
    """
    with psycopg.connect(admin_url, autocommit=True) as connection:
        connection.execute("REVOKE ALL ON SCHEMA public FROM PUBLIC")
        for schema in SCHEMAS:
            _create(connection, schema)
        # The audit reads it as the administrator: no service's role may look inside.
        connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(AUDIT_SCHEMA)))
    applied = [f"{schema.service}/{name}" for schema in SCHEMAS for name in _apply(admin_url, schema)]
    with psycopg.connect(admin_url, autocommit=True) as connection:
        for schema in SCHEMAS:
            _grant(connection, schema)
    return applied


def _create(connection: psycopg.Connection, schema: ServiceSchema) -> None:
    role = sql.Identifier(schema.name)
    known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [schema.name]).fetchone()
    if known is None:
        # Without a password, no client can log in; `set_passwords` sets one.
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT").format(role))
    # On the role, not the database: a copy of a database does not include its settings.
    for setting, value in {"search_path": schema.name, **ROLE_LIMITS}.items():
        statement = sql.SQL("ALTER ROLE {} SET {} = {}")
        connection.execute(statement.format(role, sql.Identifier(setting), sql.Literal(value)))
    connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(role))


def _apply(admin_url: str, schema: ServiceSchema) -> list[str]:
    parts = {name: str(value) for name, value in conninfo_to_dict(admin_url).items() if value is not None}
    uri = DatabaseURI(
        scheme="postgresql+psycopg",
        username=parts.pop("user", None),
        password=parts.pop("password", None),
        hostname=parts.pop("host", None),
        port=parts.pop("port", None),
        database=parts.pop("dbname", None),
        args={**parts, "schema": schema.name},
    )
    with PostgresqlPsycopgBackend(uri, default_migration_table) as backend:
        backend.init_database()
        with backend.lock():
            missing = backend.to_apply(read_migrations(str(schema.migrations)))
            names = [migration.id for migration in missing]
            backend.apply_migrations(missing)
    return names


def _grant(connection: psycopg.Connection, schema: ServiceSchema) -> None:
    role = sql.Identifier(schema.name)
    connection.execute(sql.SQL("GRANT USAGE ON SCHEMA {0} TO {0}").format(role))
    tables = connection.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = %s AND tablename !~ 'yoyo'", [schema.name]
    ).fetchall()
    for (table,) in tables:
        statement = sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON {} TO {}")
        connection.execute(statement.format(sql.Identifier(schema.name, table), role))
    # From this table, a service sees whether the schema is as new as it needs.
    newest = sql.SQL("GRANT SELECT (migration_id) ON {}._yoyo_migration TO {}")
    connection.execute(newest.format(role, role))
    connection.execute(sql.SQL("GRANT USAGE ON ALL SEQUENCES IN SCHEMA {0} TO {0}").format(role))
