"""Resolvers: Strawberry's decorator with types, and values that resolve later."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Generic, TypeVar, cast

import strawberry
from strawberry.types.field import StrawberryField
from strawberry.types.info import Info

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

TURN_S = 0.010
"""How long a long list is completed before other requests have their turn, in seconds."""


def field(*, description: str) -> Callable[[F], F]:
    """Makes a method a GraphQL field."""
    return cast(Callable[[F], F], strawberry.field(description=description))


def followed(*, description: str) -> Callable[[F], F]:
    """Makes a method that yields values a field of `Subscription`."""
    return cast(Callable[[F], F], strawberry.subscription(description=description))


class _Computed(StrawberryField):
    """Read by Strawberry as an attribute is: without arguments, and without an `info` of its own."""

    @property
    def is_basic_field(self) -> bool:
        return True

    def get_result(self, source: Any, info: Info | None, args: list[Any], kwargs: Any) -> Any:
        if self.base_resolver is None:
            return super().get_result(source, info, args, kwargs)
        compute: Any = self.base_resolver.wrapped_func
        return compute(source)


def computed(*, description: str) -> Callable[[F], F]:
    """Makes a method without arguments a GraphQL field that costs little more than an attribute."""
    return cast(Callable[[F], F], _Computed(description=description))


def later(value: Awaitable[T]) -> T:
    """Returns what an awaitable gives if it is known already; else the awaitable, which graphql-core awaits.

    For resolvers that often know their value already: an `async def` costs a task each time, known or not.
    """
    return value.result() if isinstance(value, asyncio.Future) and value.done() else cast(T, value)


def in_turns(items: list[T]) -> list[T]:
    """Returns a long list that is completed a few items at a time, so that it does not hold the event loop.

    Not for objects of which a loader reads something: what it would read at once, it would read turn by turn.
    """
    return cast(list[T], _InTurns(items))  # graphql-core goes through what can only be read with `async for`, too


class _InTurns(Generic[T]):
    def __init__(self, items: list[T]) -> None:
        self._items = items

    async def __aiter__(self) -> AsyncIterator[T]:
        ends = time.monotonic() + TURN_S
        for item in self._items:
            yield item
            if time.monotonic() > ends:
                await asyncio.sleep(0)
                ends = time.monotonic() + TURN_S
