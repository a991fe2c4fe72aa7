"""Resolvers: Strawberry's decorator with types, and values that resolve later."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

import strawberry

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def field(*, description: str) -> Callable[[F], F]:
    """Makes a method a GraphQL field.

    Args:
        description: Description of the field in the schema.
    """
    return cast(Callable[[F], F], strawberry.field(description=description))


def later(value: Awaitable[T]) -> T:
    """Returns an awaitable, typed as what it will give: graphql-core awaits whatever a resolver returns.

    For resolvers that often know their value already: an `async def` costs a task each time, known or not.

    Args:
        value: The future of a loader, or a coroutine.
    """
    return cast(T, value)
