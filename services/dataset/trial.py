"""Gives a trial its own database, identical to every other trial's."""

from __future__ import annotations

import time
from contextlib import closing

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from shop.database.roles import let_services_connect

STATEMENT_LIMIT = "60s"
LEAVE_LIMIT_S, PAUSE_S = 2.0, 0.05
"""How long the connections of the last trial's services may take to end, and the pause between two looks at them."""
# Only the roles of runs: a managed server's own agents may stay connected to every database.
USERS = """
SELECT DISTINCT usename FROM pg_stat_activity
WHERE datname = %s AND (usename = current_user OR starts_with(usename, 'shop_')) ORDER BY usename
"""


def create_trial(admin_url: str, *, template: str, name: str, keep: bool = False, cut: bool = False) -> str:
    """Replaces a database with a fresh copy of a template.

    Args:
        admin_url: URL of any other database of the server, with a role that may create databases.
        name: The trial's database; if it exists, a copy of a template.
        keep: Whether to leave the trial's database as it is if it exists.
        cut: Whether to cut connections to the old database; otherwise, they must end within `LEAVE_LIMIT_S`.

    Raises:
        ValueError: The template does not exist, the name belongs to a database that is not a trial's, or another run
            uses the trial's database.
        psycopg.Error: The database does not answer or refused a statement.
    """
    with closing(psycopg.connect(admin_url, autocommit=True)) as admin:
        admin.execute(sql.SQL("SET statement_timeout = {}").format(sql.Literal(STATEMENT_LIMIT)))
        rows = admin.execute("SELECT datname, datistemplate FROM pg_database").fetchall()
        known: dict[str, bool] = {str(database): bool(is_template) for database, is_template in rows}
        if template not in known:
            seeds = ", ".join(sorted(other for other in known if other.startswith("shop_seed_"))) or "none"
            raise ValueError(f"there is no template database {template!r}; prepared ones: {seeds}")
        if name in known and (known[name] or name == admin.info.dbname or not _is_copy(admin_url, name)):
            raise ValueError(f"{name!r} is not a trial's database and stays as it is; choose another name")
        if keep and name in known:
            return name
        if not cut:
            _require_unused(admin, name)
        database = sql.Identifier(name)
        admin.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(database))
        # file_copy took 0.09 s for 37 MB where wal_log took 0.11 s, and it leaves no dirty pages to write during the
        # trial.
        admin.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy").format(database, sql.Identifier(template))
        )
        let_services_connect(admin, name)
    return name


def _is_copy(admin_url: str, name: str) -> bool:
    """Returns whether a database is a copy of a template: only templates have the table for the audit."""
    with closing(psycopg.connect(make_conninfo(admin_url, dbname=name))) as connection:
        row = connection.execute("SELECT to_regclass('shop_audit.seeded') IS NOT NULL").fetchone()
    return row == (True,)


def _require_unused(admin: psycopg.Connection, name: str) -> None:
    """Waits until no run is connected to a database; raises ValueError if that takes longer than `LEAVE_LIMIT_S`."""
    limit = time.monotonic() + LEAVE_LIMIT_S
    while users := [str(user) for (user,) in admin.execute(USERS, [name]).fetchall()]:
        if time.monotonic() > limit:
            raise ValueError(
                f"another run uses this database server: {name} has connections of {', '.join(users)}. Stop that "
                "run, or give each run its own DATABASE_URL. If the connections are left from a run that has died, "
                f"DROP DATABASE {name} WITH (FORCE) ends them."
            )
        time.sleep(PAUSE_S)
