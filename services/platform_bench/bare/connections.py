"""Connections to PostgreSQL without a pool."""

from __future__ import annotations

import asyncpg

Connections = list["asyncpg.Connection[asyncpg.Record]"]
"""Connections that nobody uses."""


async def connect(url: str, count: int) -> Connections:
    """Opens connections.

    Args:
        url: URL of the database.
        count: Number of connections, at least as many as there are requests under way: nobody waits for one.
    """
    return [await asyncpg.connect(url) for _ in range(count)]
