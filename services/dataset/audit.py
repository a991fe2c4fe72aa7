"""Checks the shop's invariants over the schemas of all services at one moment."""

# ruff: noqa: S608 - the statements come from `invariants`

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from dataset.acknowledged import Acknowledgement
from dataset.invariants import INVARIANTS, Invariant

SCHEMA = 1
SAMPLES = 5
STATEMENT_LIMIT = "120s"
DEFAULT_GRACE_S = 30.0


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of checking one invariant; the samples describe the first few violations."""

    name: str
    promise: str
    checked: int
    violations: int
    samples: tuple[str, ...]
    ok: bool


def audit(
    admin_url: str,
    name: str,
    *,
    acknowledged: Iterable[Acknowledgement] | None = None,
    grace_s: float = DEFAULT_GRACE_S,
) -> list[Finding]:
    """Checks every invariant on one snapshot of a trial's database, in a fixed order.

    Args:
        acknowledged: Checkouts that clients saw succeed; None skips the invariants about them.
        grace_s: Age in seconds from which an unfinished saga counts as stuck.

    Raises:
        psycopg.Error: The database does not answer, or `prepare` did not make it.
    """
    with closing(psycopg.connect(make_conninfo(admin_url, dbname=name))) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute(sql.SQL("SET LOCAL statement_timeout = {}").format(sql.Literal(STATEMENT_LIMIT)))
        findings = check_invariants(connection, acknowledged=acknowledged, grace_s=grace_s)
        connection.rollback()
    return findings


def check_invariants(
    connection: psycopg.Connection, *, acknowledged: Iterable[Acknowledgement] | None, grace_s: float
) -> list[Finding]:
    """Checks every invariant inside the current transaction, which must be rolled back afterwards."""
    connection.execute("CREATE TEMPORARY TABLE grace AS SELECT %s::float8 AS seconds", [grace_s])
    have = {""}
    if acknowledged is not None:
        _load(connection, acknowledged)
        have.add("acknowledged")
    return [_check(connection, invariant) for invariant in INVARIANTS if invariant.needs in have]


def as_json(name: str, findings: Sequence[Finding]) -> str:
    """Returns the findings for programs."""
    ok = all(finding.ok for finding in findings)
    invariants = [asdict(finding) for finding in findings]
    return json.dumps({"schema": SCHEMA, "database": name, "ok": ok, "invariants": invariants}, indent=2)


def print_table(name: str, findings: Sequence[Finding]) -> None:
    """Prints the findings for people, with examples of violations."""
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    # Text is printed as it is: brackets in a name or a sample are not markup.
    console = Console(markup=False, emoji=False)
    numbers = [Column(heading, justify="right") for heading in ("checked", "violations")]
    table = Table("invariant", *numbers, "", title=f"Invariants of {name}", title_justify="left")
    for finding in findings:
        verdict = Text("ok", style="green") if finding.ok else Text("BROKEN", style="bold red")
        table.add_row(finding.promise, f"{finding.checked:,}", f"{finding.violations:,}", verdict)
    console.print(table)
    for finding in findings:
        for sample in finding.samples:
            console.print(f"{finding.name}: {sample}", style="red")


def _load(connection: psycopg.Connection, acknowledged: Iterable[Acknowledgement]) -> None:
    connection.execute(
        "CREATE TEMPORARY TABLE acknowledged "
        "(line bigint, order_id bigint, user_id bigint, idempotency_key text, checkout text)"
    )
    with connection.cursor() as cursor, cursor.copy("COPY acknowledged FROM STDIN") as copy:
        for one in acknowledged:
            copy.write_row((one.line, one.order_id, one.user_id, one.idempotency_key, one.checkout))


def _check(connection: psycopg.Connection, invariant: Invariant) -> Finding:
    checked = connection.execute(invariant.checked.encode()).fetchone()
    broken = connection.execute(
        f"SELECT count(*), (array_agg(what ORDER BY what))[1:{SAMPLES}] FROM ({invariant.broken}) AS b (what)".encode()
    ).fetchone()
    if checked is None or broken is None:
        raise RuntimeError(f"{invariant.name}: a count gave no row")
    violations, samples = broken
    return Finding(invariant.name, invariant.promise, checked[0], violations, tuple(samples or ()), ok=violations == 0)
