"""Makes resolvers: Strawberry's decorator with static types, and values that resolve later."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

import strawberry
from strawberry.types.field import StrawberryField
from strawberry.types.info import Info

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def field(*, description: str) -> Callable[[F], F]:
    return cast(Callable[[F], F], strawberry.field(description=description))


def stream_field(*, description: str) -> Callable[[F], F]:
    """Turns a method that yields values into a field of `Subscription`."""
    return cast(Callable[[F], F], strawberry.subscription(description=description))


class _ComputedField(StrawberryField):
    """A field that Strawberry reads like an attribute, without arguments and without an `info`."""

    @property
    def is_basic_field(self) -> bool:
        return True

    def get_result(self, source: Any, info: Info | None, args: list[Any], kwargs: Any) -> Any:
        if self.base_resolver is None:
            return super().get_result(source, info, args, kwargs)
        compute: Any = self.base_resolver.wrapped_func
        return compute(source)


def computed_field(*, description: str) -> Callable[[F], F]:
    """Turns a method without arguments into a GraphQL field that costs little more than an attribute."""
    return cast(Callable[[F], F], _ComputedField(description=description))


def later(value: Awaitable[T]) -> T:
    """Returns an awaitable's result if it is already there; else the awaitable, which graphql-core awaits.

    This is for resolvers whose value is often there already: an `async def` would create a task each time.
    """
    return value.result() if isinstance(value, asyncio.Future) and value.done() else cast(T, value)
