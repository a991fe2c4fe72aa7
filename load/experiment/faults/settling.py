"""Waits for the order service to settle: until no saga is under way and every update is delivered."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import closing

import psycopg

LIMIT_S = 60.0
"""How long the service may take to resume purchases that a fault interrupted."""
POLL_S = 0.05
# Sagas under way, by kind, state and step.
UNFINISHED = """
    SELECT 'checkout ' || state || ' ' || step, count(*) FROM shop_order.checkout
    WHERE state IN ('RUNNING', 'UNDOING') AND instance LIKE %(driver)s GROUP BY 1
    UNION ALL
    SELECT 'cancellation', count(*) FROM shop_order.cancellation
    WHERE state = 'RUNNING' AND instance LIKE %(driver)s HAVING count(*) > 0
"""
UNDELIVERED = """
    UNION ALL SELECT 'undelivered update', count(*) FROM shop_order.outbox HAVING count(*) > 0
"""


def count_unfinished(url: str, process: str) -> Counter[str]:
    """Counts the unfinished sagas that a process drives, by kind, state and step."""
    with closing(_connect(url)) as connection:
        return Counter(dict(connection.execute(UNFINISHED, {"driver": f"%/{process}"}).fetchall()))


def wait_until_settled(url: str) -> tuple[float, Counter[str]]:
    """Waits until no saga is under way and every update is delivered.

    Returns:
        The seconds that this took, and the number of sagas and updates, by kind, that were unfinished after `LIMIT_S`.
    """
    began = time.monotonic()
    with closing(_connect(url)) as connection:
        while True:
            left: Counter[str] = Counter(dict(connection.execute(UNFINISHED + UNDELIVERED, {"driver": "%"}).fetchall()))
            waited_s = time.monotonic() - began
            if not left or waited_s > LIMIT_S:
                return waited_s, left
            time.sleep(POLL_S)


def _connect(url: str) -> psycopg.Connection:
    return psycopg.connect(url, connect_timeout=10, autocommit=True)
