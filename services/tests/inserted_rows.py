"""Rows that tests add to the database without the services."""

from __future__ import annotations

from typing import Any

import psycopg


def insert(admin: psycopg.Connection, table: str, **values: Any) -> Any:
    """Adds a row; returns its id."""
    names, places = ", ".join(values), ", ".join(f"%({name})s" for name in values)
    [(made,)] = admin.execute(f"INSERT INTO {table} ({names}) VALUES ({places}) RETURNING id".encode(), values)
    return made
