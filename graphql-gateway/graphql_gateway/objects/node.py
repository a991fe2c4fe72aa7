"""Relay's Node: everything that can be read by its global identifier."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Self, TypeVar

import strawberry

from graphql_gateway.objects.global_id import global_id
from shop.errors import no_such

T = TypeVar("T")


@strawberry.interface(description="Something that can be fetched by its global identifier.")
class Node:
    """The type of `Query.node`; `number` is the service's own identifier."""

    id: strawberry.ID
    number: strawberry.Private[int]

    @classmethod
    def is_type_of(cls, thing: object, _info: object) -> bool:
        """Tells graphql-core whether a thing is of this type, in a third of the time of Strawberry's own check."""
        return isinstance(thing, cls)

    @classmethod
    def known(cls, number: int) -> Self:
        """Returns an object of which the query selects only fields that need no call."""
        node = cls.__new__(cls)
        node.id = strawberry.ID(global_id(cls.__name__, number))
        node.number = number
        return node


async def existing(reading: Awaitable[T | None], kind: str, number: int) -> T:
    """Returns the result of a read. Raises `NotFound` if there is none."""
    thing = await reading
    if thing is None:
        raise no_such(kind, number)
    return thing
