"""Waits for a schema that is still being migrated."""

from __future__ import annotations

import sys
from functools import partial

import psycopg
from psycopg.errors import InsufficientPrivilege, UndefinedTable
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from shop.database.schemas import ServiceSchema

PAUSE_S = 0.5
CONNECT_LIMIT_S = 2
UNFINISHED = (psycopg.OperationalError, InsufficientPrivilege, UndefinedTable, TimeoutError)
"""Errors of a database that is not migrated yet: no such role or database, no tables, or outdated tables."""


def until_schema_is_there(limit_s: float, url: str, schema: ServiceSchema) -> None:
    """Waits until a schema has every migration of this version; reports what is missing on standard error.

    Raises:
        TimeoutError: Migrations are still missing at the end; the error names them.
        psycopg.Error: The database still refuses the role at the end.
    """
    reported: list[str] = []

    def say(state: RetryCallState) -> None:
        error = str(state.outcome.exception() if state.outcome else "").strip()
        if reported[-1:] != [error]:
            reported.append(error)
            print(f"waiting: {error}", file=sys.stderr, flush=True)

    missing = retry_if_exception_type(UNFINISHED)
    again = Retrying(
        retry=missing, stop=stop_after_delay(limit_s), wait=wait_fixed(PAUSE_S), before_sleep=say, reraise=True
    )
    again(partial(_require_newest, url, schema))


def _require_newest(url: str, schema: ServiceSchema) -> None:
    with psycopg.connect(url, connect_timeout=CONNECT_LIMIT_S) as connection:
        applied = {name for (name,) in connection.execute("SELECT migration_id FROM _yoyo_migration")}
    if missing := sorted(schema.migration_names - applied):
        raise TimeoutError(f"{schema.name} is not migrated to {', '.join(missing)}")
