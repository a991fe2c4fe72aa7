"""Strawberry's decorator of resolvers, typed so that the function keeps its type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import strawberry

F = TypeVar("F", bound=Callable[..., Any])


def field(*, description: str) -> Callable[[F], F]:
    """Makes a method a GraphQL field.

    Args:
        description: What the schema says of it.
    """
    return cast(Callable[[F], F], strawberry.field(description=description))
