"""Reads rows page by page, where gRPC streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from shop.platform.thrift.encoding import MOST_ROWS
from shop.platform.validation import size

R = TypeVar("R")

DEFAULT_ROWS, LONGEST = 1_000, 100_000


async def pages(
    page: Callable[[int, int], Awaitable[list[R]]], after: int, limit: int, *, id_of: Callable[[R], int]
) -> AsyncIterator[R]:
    """Yields rows.

    Args:
        page: Gives the rows behind an id, at most so many.
        after: The id to begin behind.
        limit: How many rows to read in all; 0 for the contract's default.
        id_of: Returns the id of a row.
    """
    left = size(limit, "limit", default=DEFAULT_ROWS, most=LONGEST)
    while left:
        asked = min(left, MOST_ROWS)
        rows = await page(after, asked)
        for row in rows:
            yield row
        if len(rows) < asked:
            return
        left -= asked
        after = id_of(rows[-1])
