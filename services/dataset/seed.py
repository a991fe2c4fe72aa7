"""Prepares the seeded template database, which every trial copies."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from shop.database.roles import let_services_connect, set_passwords
from shop.database.schemas import SCHEMAS, SHOP

if TYPE_CHECKING:
    from dataset.rows import Table

SCALES = range(1, 1001)
SEEDS = range(2**63)
LOCK_SPACE = 0x5EED
"""A constant that no other user of the server locks; the digest's number is added."""
LOCK_WAIT = "600s"
_DATABASE, _HERE = SHOP / "database", Path(__file__).parent
CODE = (
    *(_DATABASE / name for name in ("schemas.py", "migrate.py", "roles.py")),
    *(_HERE / name for name in ("seed.py", "rows.py", "documents.py", "words.py")),
    SHOP / "values" / "product.py",
)
"""The code that determines the content of a prepared database."""


def prepare(admin_url: str, passwords: Mapping[str, str], *, seed: int, scale: int) -> str:
    """Makes the template database of a seed and scale, unless it exists, and sets the roles' passwords.

    The database is built under another name and renamed at the end, so an interrupted preparation leaves no half-made
    template. A second preparation of the same template waits for the first.

    Args:
        seed: Determines every random value, 0 or more.
        scale: Multiplies every count, 1 to 1,000.

    Returns:
        The template's name, `shop_seed_<digest>`.

    Raises:
        ValueError: The seed or the scale is out of range.
        psycopg.Error: The database does not answer or refused a statement.
    """
    if scale not in SCALES:
        raise ValueError(f"scale {scale} is out of range: {SCALES.start} to {SCALES.stop - 1}")
    if seed not in SEEDS:
        raise ValueError(f"seed {seed} is out of range: 0 to 2^63-1")
    key = digest(str(seed), str(scale))
    name = f"shop_seed_{key}"
    # closing: unlike the connection's own context manager, it does not touch a broken connection.
    with closing(psycopg.connect(admin_url, autocommit=True)) as admin:
        admin.execute(sql.SQL("SET lock_timeout = {}").format(sql.Literal(LOCK_WAIT)))
        # One at a time on the whole server: its databases share the roles.
        admin.execute("SELECT pg_advisory_lock(%s, 0)", [LOCK_SPACE])
        if not _exists(admin, name):
            _build(admin, admin_url, name, building=f"shop_building_{key}", seed=seed, scale=scale)
        set_passwords(admin, passwords)
    return name


def _exists(admin: psycopg.Connection, name: str) -> bool:
    return admin.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone() is not None


def _build(admin: psycopg.Connection, admin_url: str, name: str, *, building: str, seed: int, scale: int) -> None:
    from dataset.documents import documents_table
    from dataset.rows import SeededShop
    from shop.database.migrate import migrate  # a re-run needs none of these imports

    started = time.monotonic()
    _say(f"preparing the database of seed {seed}, scale {scale} (about {2 + 3 * scale} s)")
    temporary = sql.Identifier(building)
    admin.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(temporary))
    # A locale that is part of PostgreSQL, so that text is sorted the same on every machine.
    admin.execute(
        sql.SQL(
            "CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8' "
            "LOCALE 'C'"
        ).format(temporary)
    )
    url = make_conninfo(admin_url, dbname=building)
    migrate(url)
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        for table in [*SeededShop(seed, scale).tables(), documents_table(seed)]:
            copy_table(connection, table)
        _advance_sequences(connection)
        # The audit compares a trial with these tables.
        connection.execute("CREATE TABLE shop_audit.seeded AS SELECT max(id) AS last_order_id FROM shop_order.orders")
        connection.execute(
            "CREATE TABLE shop_audit.told AS SELECT user_id, last_position FROM shop_notification.mailbox"
        )
        # Otherwise autovacuum would do this in the middle of trials.
        connection.execute("VACUUM (FREEZE, ANALYZE)")
    let_services_connect(admin, building)
    # Nobody may connect to it: a database cannot be copied while it has connections.
    admin.execute(sql.SQL("ALTER DATABASE {} WITH IS_TEMPLATE true ALLOW_CONNECTIONS false").format(temporary))
    admin.execute(sql.SQL("ALTER DATABASE {} RENAME TO {}").format(temporary, sql.Identifier(name)))
    _say(f"prepared {name} in {time.monotonic() - started:.1f} s")


def copy_table(connection: psycopg.Connection, table: Table) -> None:
    """Adds the rows of a table."""
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(
        sql.Identifier(*table.name.split(".")), sql.SQL(", ").join(map(sql.Identifier, table.columns))
    )
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for block in table.blocks:
            copy.write(block)


def _advance_sequences(connection: psycopg.Connection) -> None:
    """Makes the next row of every table come after the seeded rows."""
    columns = connection.execute(
        "SELECT table_schema, table_name FROM information_schema.columns "
        "WHERE is_identity = 'YES' AND column_name = 'id' AND table_schema LIKE 'shop\\_%'"
    ).fetchall()
    for schema, table in columns:
        statement = sql.SQL("SELECT setval(pg_get_serial_sequence({}, 'id'), max(id)) FROM {}")
        connection.execute(statement.format(sql.Literal(f"{schema}.{table}"), sql.Identifier(schema, table)))


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def digest(*parts: str) -> str:
    """Names a prepared database: changes whenever a migration, the code of the seed or a part of `parts` changes."""
    migrations = [path for schema in SCHEMAS for path in sorted(schema.migrations.glob("*.sql"))]
    total = hashlib.sha256("\0".join(parts).encode())
    for source in (*migrations, *CODE):
        content = source.read_bytes()
        total.update(f"{source.relative_to(SHOP.parent)}\0{len(content)}\0".encode() + content)
    return total.hexdigest()[:12]
