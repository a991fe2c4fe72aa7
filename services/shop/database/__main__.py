"""Prepares, copies and audits the shop's database.

python -m shop.database prepare --scale 1 --seed 1 [--wait 60] [--trial shop_trial [--keep]]
python -m shop.database migrate
python -m shop.database await   --service order
python -m shop.database audit   --name shop_trial [--acknowledged FILE] [--json]

Passwords are read from the environment, as any user of the machine can see the command line of a process:
SHOP_ADMIN_URL is a database of the server as its administrator, postgresql://postgres:…@127.0.0.1:18060/postgres;
SHOP_ROLE_PASSWORDS, which `prepare` and `migrate` need, the services' passwords as JSON, {"shop_product": "…", …}. If
there is one for shop_monitor, that role is made too: it reads the server's own counts, and no row.
SHOP_DATABASE_URL, for `await`, is the database as the service's role. Each may lie in the file that NAME_FILE names.
With SHOP_AWAIT_STDIN=on, `prepare` imports what it needs, and connects once its standard input ends.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import psycopg

from shop.database.schemas import MONITOR, SCHEMAS
from shop.platform.config import value_of


def arguments() -> argparse.ArgumentParser:
    """Returns the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m shop.database", description="The shop's database.")
    commands = parser.add_subparsers(dest="command", required=True)
    prepare = commands.add_parser("prepare", help="create the seeded template unless it exists, and print its name")
    prepare.add_argument("--scale", type=int, default=1, help="multiplies every count, 1 to 1,000 (default 1)")
    prepare.add_argument("--seed", type=int, default=1, help="seed of every random value, 0 or more (default 1)")
    prepare.add_argument(
        "--wait", type=float, default=0.0, help="how long to wait for a server that is still starting, in s (default 0)"
    )
    prepare.add_argument("--trial", help="replace this database by a fresh copy of the template, and print its name")
    prepare.add_argument("--keep", action="store_true", help="leave the trial's database as it is if it exists")
    commands.add_parser(
        "migrate", help="bring the database of SHOP_ADMIN_URL itself to the newest schema, and let the services in"
    )
    waits = commands.add_parser("await", help="wait until a service's schema is the newest, and it may read it")
    waits.add_argument("--service", choices=[schema.service for schema in SCHEMAS], required=True, help="the service")
    waits.add_argument("--wait", type=float, default=600.0, help="how long to wait, in s (default 600)")
    audit = commands.add_parser("audit", help="check the shop's invariants; exit code 1 if one is broken")
    audit.add_argument("--name", required=True, help="the database to check")
    audit.add_argument("--acknowledged", type=Path, help="journeys.jsonl of a replay, or the journal of a kill test")
    audit.add_argument(
        "--tape", type=Path, help="tape of the replay, to compare user and key of acknowledged checkouts"
    )
    audit.add_argument(
        "--grace",
        type=float,
        default=30.0,
        help="age in seconds from which a saga that is still under way counts as stuck (default 30)",
    )
    audit.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


def run(argv: Sequence[str], env: Mapping[str, str] = os.environ) -> int:
    """Runs a command line.

    Args:
        argv: The command line.
        env: Environment that `SHOP_ADMIN_URL` and `SHOP_ROLE_PASSWORDS` are read from.

    Returns:
        The exit code: 0 done, 1 an invariant is broken, 2 the input is wrong or the database does not answer.
    """
    options = arguments().parse_args(argv)
    try:
        if options.command == "await":
            _await(env, options)
            return 0
        admin_url = _variable(env, "SHOP_ADMIN_URL", "postgresql://admin:password@host:5432/postgres")
        if options.command == "prepare":
            from shop.database.seed import prepare
            from shop.database.server import until_it_answers
            from shop.database.trial import create_trial

            if env.get("SHOP_AWAIT_STDIN") == "on":
                sys.stdin.read()
            ask = partial(prepare, admin_url, _passwords(env), seed=options.seed, scale=options.scale)
            template = until_it_answers(options.wait, ask)
            if options.trial:
                print(create_trial(admin_url, template=template, name=options.trial, keep=options.keep))
            else:
                print(template)
        elif options.command == "migrate":
            _migrate(admin_url, _passwords(env))
        else:
            return _audit(admin_url, options)
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


def _await(env: Mapping[str, str], options: argparse.Namespace) -> None:
    from shop.database.schemas import Schema
    from shop.database.server import until_schema_is_there

    url = _variable(env, "SHOP_DATABASE_URL", "postgresql://shop_order:password@host:5432/shop")
    until_schema_is_there(options.wait, url, Schema(options.service))


def _variable(env: Mapping[str, str], name: str, example: str) -> str:
    value = value_of(env, name)
    if value is None:
        raise ValueError(f"{name} is not set; set it, for example {name}={example}")
    return value


def _passwords(env: Mapping[str, str]) -> dict[str, str]:
    example = json.dumps({schema.name: "…" for schema in SCHEMAS})
    text = _variable(env, "SHOP_ROLE_PASSWORDS", example)
    try:
        given = json.loads(text)
        roles = [*(schema.name for schema in SCHEMAS), *([MONITOR] if MONITOR in given else [])]
        return {role: str(given[role]) for role in roles}
    except (ValueError, TypeError, KeyError):
        # The text holds passwords, so it is not repeated.
        raise ValueError(f"SHOP_ROLE_PASSWORDS is not valid; valid: {example}") from None


def _audit(admin_url: str, options: argparse.Namespace) -> int:
    from shop.database.acknowledged import read_acknowledged
    from shop.database.audit import as_json, audit, print_table

    seen = None if options.acknowledged is None else read_acknowledged(options.acknowledged, options.tape)
    findings = audit(admin_url, options.name, acknowledged=seen, grace_s=options.grace)
    if options.json:
        print(as_json(options.name, findings))
    else:
        print_table(options.name, findings)
    return 0 if all(finding.ok for finding in findings) else 1


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
