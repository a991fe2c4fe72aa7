"""How a resolver hands on a value that is still to come."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar, cast

T = TypeVar("T")


def pending(value: Awaitable[T]) -> T:
    """Returns what an awaitable gave, or else the awaitable itself, typed as what it will give.

    graphql-core awaits whatever awaitable a resolver returns, at the price of a task and two coroutines for each. So
    a loader's future that has its value already is not handed on; a resolver's annotation says what GraphQL will see.

    Args:
        value: The future of a loader, or a coroutine.

    Raises:
        Exception: What the loader raised, if it is known already.
    """
    if isinstance(value, asyncio.Future) and value.done():
        return cast(T, value.result())
    return cast(T, value)
