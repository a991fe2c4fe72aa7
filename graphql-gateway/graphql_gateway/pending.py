"""How a resolver hands on a value that is still to come."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar, cast

T = TypeVar("T")


def pending(value: Awaitable[T]) -> T:
    """Returns the awaitable itself, typed as what it will give.

    graphql-core awaits whatever awaitable a resolver returns. A plain function that returns a loader's future costs
    less than a coroutine that awaits it, and a resolver's annotation has to say what GraphQL will see.
    """
    return cast(T, value)
