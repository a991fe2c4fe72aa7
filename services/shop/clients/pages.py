"""Reads rows page by page, where other protocols stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

from shop.platform.validation import size
from shop.values.page import MAX_ROWS

R = TypeVar("R")

DEFAULT_ROWS = 1_000


async def pages(
    page: Callable[[int, int], Awaitable[Sequence[R]]],
    after: int,
    limit: int,
    *,
    largest: int,
    id_of: Callable[[R], int],
) -> AsyncIterator[R]:
    """Yields rows.

    Args:
        page: Gives the rows behind an id, at most so many.
        after: The id to begin behind.
        limit: How many rows to read in all; 0 for the contract's default.
        largest: The most rows of a page.
        id_of: Returns the id of a row.
    """
    left = size(limit, "limit", default=DEFAULT_ROWS, most=MAX_ROWS)
    while left:
        asked = min(left, largest)
        rows = await page(after, asked)
        for row in rows:
            yield row
        if len(rows) < asked:
            return
        left -= asked
        after = id_of(rows[-1])
