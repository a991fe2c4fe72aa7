"""Migrates the shop's database, or waits until it is migrated.

python -m shop.database migrate
python -m shop.database await --service order

Passwords come from the environment, as any user of the machine can see the command line of a process:

- SHOP_ADMIN_URL: The database to migrate, as its administrator: postgresql://postgres:…@127.0.0.1:18060/shop.
- SHOP_ROLE_PASSWORDS, for `migrate`: The services' passwords as JSON, {"shop_product": "…", …}. With a password for
  shop_monitor, that role is created too: it reads the server's own counts, and no row.
- SHOP_DATABASE_URL, for `await`: The database, as the service's role.

Each value may also be in the file that NAME_FILE names.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial

import psycopg
from psycopg.errors import InsufficientPrivilege, UndefinedTable
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from shop.database.environment import admin_url_of, passwords_of, variable
from shop.database.schemas import SCHEMAS, ServiceSchema

PAUSE_S = 0.5
CONNECT_LIMIT_S = 2
UNFINISHED = (psycopg.OperationalError, InsufficientPrivilege, UndefinedTable, TimeoutError)
"""Errors of a database that is not migrated yet: no such role or database, no tables, or outdated tables."""


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m shop.database", description="The shop's database.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser(
        "migrate", help="migrate the database of SHOP_ADMIN_URL to the newest schema, and let the services connect"
    )
    waits = commands.add_parser("await", help="wait until a service's schema is the newest and the service may read it")
    waits.add_argument("--service", choices=[schema.service for schema in SCHEMAS], required=True, help="the service")
    waits.add_argument("--wait", type=float, default=600.0, help="how long to wait, in s (default 600)")
    return parser


def run(argv: Sequence[str], env: Mapping[str, str] = os.environ) -> int:
    """Runs a command line; returns 0, or 2 if the input is wrong or the database does not answer."""
    options = arguments().parse_args(argv)
    try:
        if options.command == "await":
            url = variable(env, "SHOP_DATABASE_URL", "postgresql://shop_order:password@host:5432/shop")
            _await_schema(options.wait, url, ServiceSchema(options.service))
        else:
            _migrate(admin_url_of(env), passwords_of(env))
    except (ValueError, OSError, psycopg.Error) as error:
        print(f"{options.command}: {error}", file=sys.stderr)
        return 2
    return 0


def _await_schema(limit_s: float, url: str, schema: ServiceSchema) -> None:
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


def _migrate(admin_url: str, passwords: Mapping[str, str]) -> None:
    from shop.database.migrate import migrate
    from shop.database.roles import let_services_connect, set_passwords

    applied = migrate(admin_url)
    with closing(psycopg.connect(admin_url, autocommit=True)) as connection:
        set_passwords(connection, passwords)
        let_services_connect(connection, connection.info.dbname)
    print("\n".join(applied) or "The schema is the newest.")


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
