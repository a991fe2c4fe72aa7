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

import psycopg

from shop.database.environment import admin_url_of, passwords_of, variable
from shop.database.schemas import SCHEMAS, ServiceSchema


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
            from shop.database.server import until_schema_is_there

            url = variable(env, "SHOP_DATABASE_URL", "postgresql://shop_order:password@host:5432/shop")
            until_schema_is_there(options.wait, url, ServiceSchema(options.service))
        else:
            _migrate(admin_url_of(env), passwords_of(env))
    except (ValueError, OSError, psycopg.Error) as error:
        print(f"{options.command}: {error}", file=sys.stderr)
        return 2
    return 0


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
