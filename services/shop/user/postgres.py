"""The accounts' table in PostgreSQL (user/migrations)."""

# The only text put into a statement is the list of columns below.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Sequence

import asyncpg

from shop.platform.database import Database
from shop.user.domain import Address, Credentials, NewUser, User, UserChange

_COLUMNS = "id, email, name, recipient, street, city, postal_code, country_code"

GET = f"SELECT {_COLUMNS} FROM account WHERE id = $1"
CREDENTIALS = f"SELECT {_COLUMNS}, password_hash FROM account WHERE email = $1"
BATCH_GET = f"SELECT {_COLUMNS} FROM account WHERE id = ANY($1::bigint[])"
PAGE = f"SELECT {_COLUMNS} FROM account WHERE id > $1 ORDER BY id LIMIT $2"
ADD = f"""
    INSERT INTO account (email, name, recipient, street, city, postal_code, country_code, password_hash)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (email) DO NOTHING
    RETURNING {_COLUMNS}"""
CHANGE = f"""
    UPDATE account
    SET name = coalesce($2, name), recipient = coalesce($3, recipient), street = coalesce($4, street),
        city = coalesce($5, city), postal_code = coalesce($6, postal_code),
        country_code = coalesce($7, country_code)
    WHERE id = $1
    RETURNING {_COLUMNS}"""
DELETE = "DELETE FROM account WHERE id = $1 RETURNING id"


class PostgresUserStore:
    """The accounts' table.

    Args:
        database: Connections of the service's role.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, user_id: int) -> User | None:
        """Returns one user."""
        row = await self._database.fetchrow(GET, user_id)
        return _user(row) if row is not None else None

    async def credentials(self, email: str) -> Credentials | None:
        """Returns the user of an e-mail address, with the hash of the password."""
        row = await self._database.fetchrow(CREDENTIALS, email)
        return Credentials(_user(row), row[8]) if row is not None else None

    async def batch_get(self, ids: Sequence[int]) -> list[User]:
        """Returns the users that exist, in any order, by one query."""
        return [_user(row) for row in await self._database.fetch(BATCH_GET, ids)]

    async def page(self, *, after: int, limit: int) -> list[User]:
        """Returns users with a greater id, by ascending id."""
        return [_user(row) for row in await self._database.fetch(PAGE, after, limit)]

    async def add(self, user: NewUser, password_hash: str) -> User | None:
        """Adds a user; None if the e-mail address is taken."""
        row = await self._database.fetchrow(ADD, user.email, user.name, *_parts(user.address), password_hash)
        return _user(row) if row is not None else None

    async def change(self, user_id: int, change: UserChange) -> User | None:
        """Changes a user; None if there is none."""
        row = await self._database.fetchrow(CHANGE, user_id, change.name, *_parts(change.address))
        return _user(row) if row is not None else None

    async def delete(self, user_id: int) -> bool:
        """Removes a user; False if there is none."""
        return await self._database.fetchrow(DELETE, user_id) is not None


def _user(row: asyncpg.Record) -> User:
    return User(row[0], row[1], row[2], Address(row[3], row[4], row[5], row[6], row[7]))


def _parts(address: Address | None) -> tuple[str | None, ...]:
    if address is None:
        return (None,) * 5
    return (address.recipient, address.street, address.city, address.postal_code, address.country_code)
