"""Reads rows page by page, where other protocols stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import TypeVar, cast

from shop.contract.signatures import PortMethod
from shop.platform.validation import size
from shop.values.page import DEFAULT_ROWS, MAX_ROWS

R = TypeVar("R")


async def pages(
    method: PortMethod[..., object],
    arguments: Mapping[str, object],
    page: Callable[[int, int], Awaitable[Sequence[R]]],
    largest: int,
) -> AsyncIterator[R]:
    """Yields the rows that a method's arguments ask for, at most `largest` per request.

    Args:
        page: Reads up to a given number of rows after a given id. A service may return fewer; only an empty page
            means the end.
    """
    name, id_of = method.position
    after = cast(int, arguments[name])
    left = size(cast(int, arguments["limit"]), "limit", default=DEFAULT_ROWS, maximum=MAX_ROWS)
    while left:
        rows = await page(after, min(left, largest))
        if not rows:
            return
        for row in rows:
            yield row
        left -= len(rows)
        after = id_of(rows[-1])
