"""The backlog in the order service's tables, for metrics: unfinished sagas and undelivered events."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from shop.errors import ShopError
from shop.platform.database.pool import Database
from shop.platform.database.statements import Statement
from shop.platform.deadline import own_deadline
from shop.platform.telemetry.meters import Meters

log = logging.getLogger(__name__)

LOOK_S = 5.0
"""Pause between two reads of the tables, in seconds."""
LIMIT_S = 2.0
"""Time limit of a read, in seconds."""
SAGAS = (("checkout", "RUNNING"), ("checkout", "UNDOING"), ("cancellation", "RUNNING"))
OUTBOX = ("outbox", "")
# The age of a saga counts from the time of its last step, which retries do not change.
WAITING = Statement(
    "SELECT checkout",
    """
    SELECT 'checkout' AS queue, state, count(*) AS things, extract(epoch FROM now() - min(updated_at)) AS age_s
    FROM checkout WHERE state IN ('RUNNING', 'UNDOING') GROUP BY state
    UNION ALL SELECT 'cancellation', state, count(*), extract(epoch FROM now() - min(updated_at))
    FROM cancellation WHERE state = 'RUNNING' GROUP BY state
    UNION ALL SELECT 'outbox', '', count(*), coalesce(extract(epoch FROM now() - min(happened_at)), 0) FROM outbox
""",
)


class Backlog:
    """Shows the backlog as metrics, read from the tables every few seconds; every replica shows the same backlog."""

    def __init__(self, database: Database, meters: Meters) -> None:
        self._database = database
        self._rows: dict[tuple[str, str], tuple[float, float]] = {}
        for saga, state in SAGAS:
            attributes = {"shop.saga.name": saga, "shop.saga.state": state}
            self._show(meters, (saga, state), "shop.saga", "Sagas that have not ended", attributes)
        self._show(meters, OUTBOX, "shop.outbox", "Events that are not delivered", {})

    def _show(
        self, meters: Meters, queue: tuple[str, str], name: str, things: str, attributes: Mapping[str, str]
    ) -> None:
        meters.gauge(f"{name}.waiting", f"{things}.", lambda: self._of(queue)[0], attributes=attributes)
        oldest = f"{things}: how long the oldest one has waited."
        meters.gauge(f"{name}.oldest_age", oldest, lambda: self._of(queue)[1], unit="seconds", attributes=attributes)

    def _of(self, queue: tuple[str, str]) -> tuple[float, float]:
        return self._rows.get(queue, (0, 0))

    async def look(self) -> None:
        """Reads the tables. Raises `ShopError` if the database does not answer."""
        with own_deadline(LIMIT_S):
            rows = await self._database.fetch(WAITING)
        self._rows = {(row["queue"], row["state"]): (row["things"], float(row["age_s"])) for row in rows}

    async def run(self) -> None:
        """Reads the tables repeatedly until it is cancelled; no failure ends it."""
        while True:
            try:
                await self.look()
            except ShopError as error:
                log.warning("the backlog could not be read: %s", error.message)
            except Exception:
                log.exception("the backlog could not be read")
            await asyncio.sleep(LOOK_S)
