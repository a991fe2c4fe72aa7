"""Prepares, copies and audits the database of an experiment.

python -m dataset prepare --scale 1 --seed 1 [--wait 60] [--trial shop_trial [--keep] [--cut]]
python -m dataset audit   --name shop_trial [--acknowledged FILE] [--json]

Passwords come from the environment: SHOP_ADMIN_URL is the URL of a database of the server, with its administrator's
password. SHOP_ROLE_PASSWORDS, which `prepare` needs, has the services' passwords, as for `python -m shop.database`.
With SHOP_AWAIT_STDIN=on, `prepare` first imports its modules, and connects once its standard input ends.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import psycopg
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from shop.database.environment import admin_url_of, passwords_of

PAUSE_S = 0.5
"""Pause between two attempts to reach a server that does not answer yet, in seconds."""


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m dataset", description="The database of an experiment.")
    commands = parser.add_subparsers(dest="command", required=True)
    prepare = commands.add_parser("prepare", help="create the seeded template unless it exists, and print its name")
    prepare.add_argument("--scale", type=int, default=1, help="multiplies every count, 1 to 1,000 (default 1)")
    prepare.add_argument("--seed", type=int, default=1, help="seed of every random value, 0 or more (default 1)")
    prepare.add_argument(
        "--wait", type=float, default=0.0, help="how long to wait for a server that is still starting, in s (default 0)"
    )
    prepare.add_argument("--trial", help="replace this database with a fresh copy of the template, and print its name")
    prepare.add_argument("--keep", action="store_true", help="leave the trial's database as it is if it exists")
    prepare.add_argument("--cut", action="store_true", help="cut connections to the trial's database (default: fail)")
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
    """Runs a command line; returns 0, 1 if an invariant is broken, or 2 for wrong input or an unreachable database."""
    options = arguments().parse_args(argv)
    try:
        admin_url = admin_url_of(env)
        if options.command == "audit":
            return _audit(admin_url, options)
        _prepare(admin_url, options, env)
    except (ValueError, OSError, psycopg.Error) as error:
        print(f"{options.command}: {error}", file=sys.stderr)
        return 2
    return 0


def _prepare(admin_url: str, options: argparse.Namespace, env: Mapping[str, str]) -> None:
    from dataset.seed import prepare
    from dataset.trial import create_trial

    if env.get("SHOP_AWAIT_STDIN") == "on":
        sys.stdin.read()
    ask = partial(prepare, admin_url, passwords_of(env), seed=options.seed, scale=options.scale)
    silent = retry_if_exception_type(psycopg.OperationalError)
    template = Retrying(retry=silent, stop=stop_after_delay(options.wait), wait=wait_fixed(PAUSE_S), reraise=True)(ask)
    if options.trial:
        print(create_trial(admin_url, template=template, name=options.trial, keep=options.keep, cut=options.cut))
    else:
        print(template)


def _audit(admin_url: str, options: argparse.Namespace) -> int:
    from dataset.acknowledged import read_acknowledged
    from dataset.audit import as_json, audit, print_table

    seen = None if options.acknowledged is None else read_acknowledged(options.acknowledged, options.tape)
    findings = audit(admin_url, options.name, acknowledged=seen, grace_s=options.grace)
    if options.json:
        print(as_json(options.name, findings))
    else:
        print_table(options.name, findings)
    return 0 if all(finding.ok for finding in findings) else 1


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
