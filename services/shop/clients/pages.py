"""Reads rows page by page, where other protocols stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from shop.contract.methods import PortMethod
from shop.platform.validation import size
from shop.values.page import MAX_ROWS

R = TypeVar("R")

DEFAULT_ROWS = 1_000


async def pages(
    method: PortMethod[..., object],
    arguments: Mapping[str, int],
    page: Callable[[int, int], Awaitable[Sequence[R]]],
    largest: int,
) -> AsyncIterator[R]:
    """Yields rows.

    Args:
        method: Method that lists them.
        arguments: Its arguments: the id to begin behind, and how many rows to read in all.
        page: Gives the rows behind an id, at most so many.
        largest: The most rows of a page.
    """
    name, id_of = method.position
    after, left = arguments[name], size(arguments["limit"], "limit", default=DEFAULT_ROWS, most=MAX_ROWS)
    while left:
        asked = min(left, largest)
        rows = await page(after, asked)
        for row in rows:
            yield row
        if len(rows) < asked:
            return
        left -= asked
        after = id_of(rows[-1])
