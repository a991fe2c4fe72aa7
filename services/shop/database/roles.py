"""Access to the shop's databases: the services' roles, each with its password."""

from __future__ import annotations

from collections.abc import Mapping

import psycopg
from psycopg import sql

from shop.database.schemas import MONITOR, SCHEMAS


def let_services_connect(connection: psycopg.Connection, database: str) -> None:
    """Lets only the services' roles connect to a database; a copy of a template needs it again."""
    name = sql.Identifier(database)
    connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(name))
    roles = sql.SQL(", ").join(sql.Identifier(schema.name) for schema in SCHEMAS)
    connection.execute(sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(name, roles))


def set_passwords(connection: psycopg.Connection, passwords: Mapping[str, str]) -> None:
    """Sets the passwords of the services' roles, and of the monitor's role, which is created if it has a password.

    The server gets only a hash, so that its log contains no password.
    """
    if MONITOR in passwords:
        _let_monitor(connection)
    for role, password in passwords.items():
        hashed = connection.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256").decode()
        statement = sql.SQL("ALTER ROLE {} PASSWORD {}")
        connection.execute(statement.format(sql.Identifier(role), sql.Literal(hashed)))


def _let_monitor(connection: psycopg.Connection) -> None:
    role = sql.Identifier(MONITOR)
    if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [MONITOR]).fetchone() is None:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE INHERIT").format(role))
    connection.execute(sql.SQL("GRANT pg_monitor TO {}").format(role))
