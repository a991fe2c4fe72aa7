"""Who may enter the shop's databases: the services' roles, each with its password."""

from __future__ import annotations

from collections.abc import Mapping

import psycopg
from psycopg import sql

from shop.database.schemas import SCHEMAS


def let_services_connect(connection: psycopg.Connection, database: str) -> None:
    """Lets the services' roles, and nobody else, connect to a database; copies of a template need it anew."""
    name = sql.Identifier(database)
    connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(name))
    roles = sql.SQL(", ").join(sql.Identifier(schema.name) for schema in SCHEMAS)
    connection.execute(sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(name, roles))


def set_passwords(connection: psycopg.Connection, passwords: Mapping[str, str]) -> None:
    """Gives the services' roles their passwords.

    The server is told a hash only, so that no password gets into its log.
    """
    for role, password in passwords.items():
        hashed = connection.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256").decode()
        statement = sql.SQL("ALTER ROLE {} PASSWORD {}")
        connection.execute(statement.format(sql.Identifier(role), sql.Literal(hashed)))
