"""The shop's invariants, checked on the database that a run left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg

from experiment.errors import UsageError
from mesh.errors import MeshError

#: Seconds that the audit may take.
LIMIT_S = 120.0


def mark(database_url: str, name: str, trial: str) -> None:
    """Notes on a database which trial it belongs to."""
    with psycopg.connect(database_url, autocommit=True, connect_timeout=10) as connection:
        comment = psycopg.sql.SQL("COMMENT ON DATABASE {} IS {}")
        connection.execute(comment.format(psycopg.sql.Identifier(name), psycopg.sql.Literal(trial)))


def require_marked(database_url: str, name: str, trial: str) -> None:
    """Makes sure that a database still holds what a trial left.

    Raises:
        UsageError: It is gone, or holds another trial's data.
    """
    try:
        with psycopg.connect(database_url, connect_timeout=10) as connection:
            query = "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s"
            row = connection.execute(query, [name]).fetchone()
    except psycopg.OperationalError as error:
        raise UsageError(f"the database does not answer: {error}") from error
    holds = "nothing" if row is None or not row[0] else str(row[0])
    if holds != trial:
        raise UsageError(
            f"run={trial} cannot be audited any more: the database now holds {holds}. "
            "Audit right after a bench, or audit the run that it holds."
        )


def audit(admin_url: str, name: str, journeys: Path) -> dict[str, Any]:
    """Checks every invariant of the shop on a database.

    Args:
        admin_url: The server's, as its administrator.
        name: The database to check.
        journeys: The replay's rows, whose acknowledged checkouts must all be there, once.

    Returns:
        `ok`, and for each invariant its name, promise, how much was checked, violations and examples.

    Raises:
        MeshError: The audit could not be done.
    """
    done = _run(admin_url, name, journeys, ["--json"], capture=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def print_audit(admin_url: str, name: str, journeys: Path | None, *, as_json: bool) -> bool:
    """Checks every invariant and prints the findings; returns whether all hold.

    Args:
        admin_url: As for `audit`.
        name: As for `audit`.
        journeys: As for `audit`; None where no replay was recorded.
        as_json: Whether programs read it.

    Raises:
        MeshError: The audit could not be done.
    """
    done = _run(admin_url, name, journeys, ["--json"] if as_json else [], capture=False)
    return done.returncode == 0


def _run(
    admin_url: str, name: str, journeys: Path | None, more: Sequence[str], *, capture: bool
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "shop.database", "audit", "--name", name, *more]
    if journeys is not None:
        command += ["--acknowledged", str(journeys)]
    try:
        done = subprocess.run(  # noqa: S603 - our own command line
            command,
            env={**os.environ, "SHOP_ADMIN_URL": admin_url},
            stdout=subprocess.PIPE if capture else None,
            stderr=subprocess.PIPE,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise MeshError(f"the audit was not over after {LIMIT_S:g} s") from error
    if done.returncode not in (0, 1):
        raise MeshError(f"the audit could not be done: {done.stderr.strip()}")
    return done
