"""Who may enter the shop's databases: the services' roles, each with its password."""

from __future__ import annotations

from collections.abc import Mapping

import psycopg
from psycopg import sql

from shop.database.schemas import MONITOR, SCHEMAS


def let_services_connect(connection: psycopg.Connection, database: str) -> None:
    """Lets the services' roles, and nobody else, connect to a database; copies of a template need it anew."""
    name = sql.Identifier(database)
    connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(name))
    roles = sql.SQL(", ").join(sql.Identifier(schema.name) for schema in SCHEMAS)
    connection.execute(sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(name, roles))


def set_passwords(connection: psycopg.Connection, passwords: Mapping[str, str]) -> None:
    """Gives the services' roles their passwords, and the monitor's, which is made if it is among them.

    The server is told a hash only, so that no password gets into its log.
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
