"""Checks the shop's invariants in the database that a run left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from experiment.errors import UsageError
from mesh.errors import MeshError

LIMIT_S = 120.0
"""Seconds that the audit may take."""


def mark(database_url: str, name: str, trial: str) -> None:
    """Records in a database to which trial the database belongs."""
    with psycopg.connect(database_url, autocommit=True, connect_timeout=10) as connection:
        comment = psycopg.sql.SQL("COMMENT ON DATABASE {} IS {}")
        connection.execute(comment.format(psycopg.sql.Identifier(name), psycopg.sql.Literal(trial)))


def require_marked(database_url: str, name: str, trial: str) -> None:
    """Raises UsageError unless a database still exists and has a trial's data."""
    try:
        with psycopg.connect(database_url, connect_timeout=10) as connection:
            query = "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s"
            row = connection.execute(query, [name]).fetchone()
    except psycopg.OperationalError as error:
        raise UsageError(f"the database does not answer: {error}") from error
    holds = str(row[0]) if row and row[0] else ""
    if holds != trial:
        data = f"the data of {holds}" if holds else "no run's data"
        raise UsageError(
            f"run={trial} can no longer be audited, because the database now holds {data}. "
            "Audit that run, or audit a run directly after its bench."
        )


@contextmanager
def auditing(admin_url: str, name: str, journeys: Path) -> Iterator[Callable[[], str]]:
    """Checks every invariant of the shop in a database while the block runs.

    Args:
        journeys: File with the replay's rows; each acknowledged checkout must be in the database exactly once.

    Yields:
        A function that waits for the findings and returns them as JSON: `ok`, and each invariant with its promise,
        violations and examples. It raises MeshError if the audit failed.
    """
    with _start(admin_url, name, journeys, as_json=True, stdout=subprocess.PIPE) as process:
        yield lambda: _finish(process)


def audit(admin_url: str, name: str, journeys: Path | None, *, as_json: bool) -> bool:
    """Checks a database's invariants, prints the findings, and returns whether all hold; raises MeshError on errors."""
    with _start(admin_url, name, journeys, as_json=as_json) as process:
        _finish(process)
        return process.returncode == 0


@contextmanager
def _start(
    admin_url: str, name: str, journeys: Path | None, *, as_json: bool, stdout: int | None = None
) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "dataset", "audit", "--name", name]
    command += ["--json"] if as_json else []
    if journeys is not None:
        command += ["--acknowledged", str(journeys)]
    with subprocess.Popen(  # noqa: S603 - our own command line
        command, env={**os.environ, "SHOP_ADMIN_URL": admin_url}, stdout=stdout, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()  # the process still runs only if an error or the user ended the block


def _finish(process: subprocess.Popen[str]) -> str:
    try:
        out, err = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired as error:
        raise MeshError(f"the audit did not finish within {LIMIT_S:g} s; it was stopped") from error
    if process.returncode not in (0, 1):
        raise MeshError(f"the audit failed: {err.strip()}")
    return out
