"""Payments in PostgreSQL."""

# ruff: noqa: S608 - only constants are put into the statements

from __future__ import annotations

from collections.abc import Sequence

import asyncpg

from shop.money import Money
from shop.payment.domain import NOTHING, StoredPayment
from shop.platform.database.pool import Database
from shop.platform.database.statements import Statement
from shop.values.payment import Payment, PaymentStatus

COLUMNS = "id, checkout_id, order_id, user_id, status, amount_minor, currency, decline_reason, placed_at"
# A payment outlives its user's account, and then belongs to nobody.
READ = """
    SELECT p.id, p.checkout_id, p.order_id, CASE WHEN gone.id IS NULL THEN p.user_id END AS user_id, p.status,
        p.amount_minor, p.currency, p.decline_reason, p.placed_at
    FROM payment p LEFT JOIN shop_shared.deleted_user gone ON gone.id = p.user_id
"""
GET = Statement("SELECT payment", f"{READ} WHERE p.id = $1")
OF_CHECKOUT = Statement("SELECT payment", f"SELECT {COLUMNS} FROM payment WHERE checkout_id = $1")
OF_ORDERS = Statement("SELECT payment", f"{READ} WHERE p.order_id = ANY($1)")

# The update changes nothing: it makes the statement return the existing row.
ADD = Statement(
    "INSERT payment",
    f"""
    INSERT INTO payment (checkout_id, user_id, status, amount_minor, currency, decline_reason, placed_at)
    VALUES ($1, $2, $3, $4, $5, $6, date_trunc('second', now()))
    ON CONFLICT (checkout_id) DO UPDATE SET checkout_id = EXCLUDED.checkout_id
    RETURNING {COLUMNS}
""",
)
CAPTURE = Statement(
    "UPDATE payment",
    f"""
    UPDATE payment SET status = 'CAPTURED', order_id = $2
    WHERE checkout_id = $1 AND (status = 'AUTHORIZED' OR status = 'CAPTURED' AND order_id = $2)
    RETURNING {COLUMNS}
""",
)
VOID = Statement(
    "INSERT payment",
    f"""
    INSERT INTO payment (checkout_id, status, amount_minor, currency, placed_at)
    VALUES ($1, 'VOIDED', $2, $3, date_trunc('second', now()))
    ON CONFLICT (checkout_id) DO UPDATE
    SET status = CASE payment.status WHEN 'DECLINED' THEN 'DECLINED' ELSE 'VOIDED' END
    RETURNING {COLUMNS}
""",
)


class PostgresPayments:
    """The payment store in the schema `shop_payment`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, checkout_id: str, user_id: int, amount: Money, decline_reason: str) -> StoredPayment:
        status = PaymentStatus.DECLINED if decline_reason else PaymentStatus.AUTHORIZED
        row = await self._database.fetchrow(
            ADD, checkout_id, user_id, status.value, amount.amount_minor, amount.currency, decline_reason or None
        )
        assert row is not None, "INSERT RETURNING gives a row"
        return stored_of(row)

    async def capture(self, checkout_id: str, order_id: int) -> StoredPayment | None:
        try:
            row = await self._database.fetchrow(CAPTURE, checkout_id, order_id)
        except asyncpg.UniqueViolationError:
            return None
        return None if row is None else stored_of(row)

    async def void(self, checkout_id: str) -> StoredPayment:
        row = await self._database.fetchrow(VOID, checkout_id, NOTHING.amount_minor, NOTHING.currency)
        assert row is not None, "INSERT RETURNING gives a row"
        return stored_of(row)

    async def of_checkout(self, checkout_id: str) -> StoredPayment | None:
        row = await self._database.fetchrow(OF_CHECKOUT, checkout_id)
        return None if row is None else stored_of(row)

    async def get(self, payment_id: int) -> StoredPayment | None:
        row = await self._database.fetchrow(GET, payment_id)
        return None if row is None else stored_of(row)

    async def of_orders(self, order_ids: Sequence[int]) -> list[StoredPayment]:
        rows = await self._database.fetch(OF_ORDERS, order_ids)
        return [stored_of(row) for row in rows]


def stored_of(row: asyncpg.Record) -> StoredPayment:
    """Returns the payment in a row of `COLUMNS`."""
    payment = Payment(
        id=row["id"],
        checkout_id=str(row["checkout_id"]),
        order_id=row["order_id"] or 0,
        user_id=row["user_id"] or 0,
        status=PaymentStatus(row["status"]),
        amount=Money(row["amount_minor"], row["currency"]),
        placed_at=row["placed_at"],
    )
    return StoredPayment(payment, row["decline_reason"] or "")
