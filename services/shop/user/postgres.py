"""The accounts' table in PostgreSQL (user/migrations)."""

# Only the list of columns below is put into a statement as text.
# ruff: noqa: S608

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import asyncpg

from shop.platform.database.pool import Database
from shop.platform.database.statements import Statement
from shop.user.domain import Credentials, NewUser, UserChange
from shop.values.user import Address, User

COLUMNS = "id, email, name, recipient, street, city, postal_code, country_code"

GET = Statement("SELECT account", f"SELECT {COLUMNS} FROM account WHERE id = $1")
BATCH_GET = Statement("SELECT account", f"SELECT {COLUMNS} FROM account WHERE id = ANY($1::bigint[])")
PAGE = Statement("SELECT account", f"SELECT {COLUMNS} FROM account WHERE id > $1 ORDER BY id LIMIT $2")
ADD = Statement(
    "INSERT account",
    f"""
    INSERT INTO account (email, name, recipient, street, city, postal_code, country_code, password_hash)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (email) DO NOTHING
    RETURNING {COLUMNS}""",
)
_AS_EXPECTED = """(
        ${0}::text IS NULL
        OR (email, name, recipient, street, city, postal_code, country_code)
            = (${0}, ${1}, ${2}, ${3}, ${4}, ${5}, ${6})
    )"""
CHANGE = Statement(
    "UPDATE account",
    f"""
    UPDATE account
    SET name = coalesce($2, name), recipient = coalesce($3, recipient), street = coalesce($4, street),
        city = coalesce($5, city), postal_code = coalesce($6, postal_code),
        country_code = coalesce($7, country_code)
    WHERE id = $1 AND {_AS_EXPECTED.format(*range(8, 15))}
    RETURNING {COLUMNS}""",
)
# The same statement records the id as deleted: from then on, the account's tokens reach no orders and no payments.
# NOTIFY lets the notification service end the account's streams.
DELETE = Statement(
    "DELETE account",
    f"""
    WITH gone AS (
        DELETE FROM account WHERE id = $1 AND {_AS_EXPECTED.format(*range(2, 9))} RETURNING id
    ), tombstone AS (
        INSERT INTO shop_shared.deleted_user SELECT id FROM gone ON CONFLICT DO NOTHING
    )
    SELECT id, pg_notify('shop_notification', id::text) FROM gone""",
)
CREDENTIALS = Statement(
    "SELECT account",
    f"""
    SELECT {COLUMNS}, password_hash, failures
    FROM account RIGHT JOIN (VALUES (1)) AS always ON email = $1
    LEFT JOIN failed_login ON address = $2 AND expires_at > now()""",
)
# Deletes a few expired rows, so that the table stays small; it skips rows that another statement has locked.
NOTE_FAILURE = Statement(
    "INSERT failed_login",
    """
    WITH expired AS (
        DELETE FROM failed_login WHERE address IN (
            SELECT address FROM failed_login WHERE expires_at <= now() AND address <> $1 LIMIT 100
            FOR UPDATE SKIP LOCKED
        )
    )
    INSERT INTO failed_login AS known (address, failures, expires_at)
    VALUES ($1, 1, now() + make_interval(secs => $2))
    ON CONFLICT (address) DO UPDATE
    SET failures = CASE WHEN known.expires_at <= now() THEN 1 ELSE known.failures + 1 END,
        expires_at = CASE WHEN known.expires_at <= now() THEN EXCLUDED.expires_at ELSE known.expires_at END
    RETURNING failures""",
)
FORGET_FAILURES = Statement(
    "DELETE failed_login",
    "DELETE FROM failed_login WHERE address = $1 AND (failures < $2 OR expires_at <= now()) RETURNING address",
)


class PostgresUserStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, user_id: int) -> User | None:
        row = await self._database.fetchrow(GET, user_id)
        return user_of(row) if row is not None else None

    async def credentials(self, email: str) -> Credentials:
        row = await self._database.fetchrow(CREDENTIALS, email, email_digest(email))
        assert row is not None, "an outer join of one row gives one"
        user = user_of(row) if row[0] is not None else None
        return Credentials(user, row[8], row[9] or 0)

    async def note_failure(self, email: str, seconds: float) -> int:
        row = await self._database.fetchrow(NOTE_FAILURE, email_digest(email), seconds)
        assert row is not None, "INSERT RETURNING gives a row"
        return int(row[0])

    async def forget_failures(self, email: str, maximum: int) -> bool:
        forgotten = await self._database.fetchrow(FORGET_FAILURES, email_digest(email), maximum)
        # Another replica may already have reset the count.
        return forgotten is not None or (await self.credentials(email)).failures < maximum

    async def batch_get(self, ids: Sequence[int]) -> list[User]:
        return [user_of(row) for row in await self._database.fetch(BATCH_GET, ids)]

    async def page(self, *, after: int, limit: int) -> list[User]:
        return [user_of(row) for row in await self._database.fetch(PAGE, after, limit)]

    async def add(self, user: NewUser, password_hash: str) -> User | None:
        row = await self._database.fetchrow(ADD, user.email, user.name, *_parts(user.address), password_hash)
        return user_of(row) if row is not None else None

    async def change(self, user_id: int, change: UserChange, expected: User | None) -> User | None:
        row = await self._database.fetchrow(
            CHANGE, user_id, change.name, *_parts(change.address), *_columns_of(expected)
        )
        return user_of(row) if row is not None else None

    async def delete(self, user_id: int, expected: User | None) -> bool:
        return await self._database.fetchrow(DELETE, user_id, *_columns_of(expected)) is not None


def user_of(row: asyncpg.Record) -> User:
    """Returns the user in a row that begins with `COLUMNS`."""
    return User(row[0], row[1], row[2], Address(row[3], row[4], row[5], row[6], row[7]))


def email_digest(email: str) -> bytes:
    """Returns the key under which failed logins of an e-mail address are counted."""
    return hashlib.sha256(email.encode()).digest()


def _columns_of(user: User | None) -> tuple[str | None, ...]:
    return (None,) * 7 if user is None else (user.email, user.name, *_parts(user.address))


def _parts(address: Address | None) -> tuple[str | None, ...]:
    if address is None:
        return (None,) * 5
    return (address.recipient, address.street, address.city, address.postal_code, address.country_code)
