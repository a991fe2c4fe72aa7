"""Limits one execution of a document, and lets other requests have their turn.

graphql-core completes, without a pause, everything that needs no call. Meanwhile the event loop runs nothing else, so
neither a deadline nor a departing client can end the execution. Therefore every field that returns a list gets the list
from an `Execution`, which

- counts the fields that its items will have, and stops at the limit;
- stops after the deadline;
- lets other requests run after every `FIELDS_PER_TURN` fields.

A stopped execution returns no more items, so it ends soon. The error that stopped it is the whole answer.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLField,
    GraphQLFieldResolver,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLResolveInfo,
    GraphQLSchema,
    InlineFragmentNode,
    SelectionSetNode,
    default_field_resolver,
    get_named_type,
    get_nullable_type,
)
from starlette.types import Receive

from shop.errors import DeadlineExceeded, ResourceExhausted, ShopError
from shop.platform import deadline
from shop.platform.deadline import OVER, passed

FIELDS_PER_TURN = 1_000
"""Fields that an execution resolves before other requests get their turn; they take about 10 ms."""

T = TypeVar("T")


class Execution:
    """One execution of a document, or of one event of a subscription.

    Args:
        fields: Number of an item's fields, by the identity of the list's node in the document; filled during execution.
        limit: Maximum number of fields in the items of its lists; None for no limit.
    """

    __slots__ = ("_fields", "_left", "_limit", "_passes", "_turn", "error")

    def __init__(self, fields: dict[int, int], limit: int | None) -> None:
        self._fields = fields
        self._limit = limit
        self._passes = 0
        self.renew()

    def renew(self) -> None:
        """Starts counting anew, for the next event."""
        self._left = self._limit
        self._turn = FIELDS_PER_TURN
        self.error: ShopError | None = None

    def stop(self, error: ShopError) -> None:
        """Stops the execution: it returns no more items. Only the first error counts."""
        self.error = self.error or error

    def take(self, items: Sequence[T], info: GraphQLResolveInfo[Any]) -> Any:
        """Returns a list for graphql-core to complete: at once, after other requests have had a turn, or in slices."""
        each = self._fields_of_item(info)
        count = len(items) * each
        if self._left is not None:
            self._left -= count
            if self._left < 0:
                self.stop(ResourceExhausted(f"the answer has more than {self._limit} fields; ask for fewer items"))
        if passed():
            self.stop(DeadlineExceeded(OVER))
        if self.error is not None:
            return []
        if count > FIELDS_PER_TURN:
            return self._bit_by_bit(items, max(FIELDS_PER_TURN // each, 1))
        self._turn -= count
        return items if self._turn >= 0 else self._in_turn(items, count)

    async def _in_turn(self, items: Sequence[T], count: int) -> Sequence[T]:
        # Several lists may wait. The first to run in a pass of the event loop begins a turn, which the others share.
        while self.error is None:
            seen = self._passes
            await asyncio.sleep(0)
            if self._passes == seen:
                self._passes += 1
                self._turn = FIELDS_PER_TURN
            elif self._turn < count:
                continue
            self._turn -= count
            return items
        return []

    async def _bit_by_bit(self, items: Sequence[T], size: int) -> AsyncIterator[T]:
        for place, item in enumerate(items):
            if place % size == 0:
                await asyncio.sleep(0)
                if passed():
                    self.stop(DeadlineExceeded(OVER))
                if self.error is not None:
                    return
            yield item

    def _fields_of_item(self, info: GraphQLResolveInfo[Any]) -> int:
        total = 0
        for node in info.field_nodes:
            fields = self._fields.get(id(node))
            if fields is None:
                counter = _FieldCounter(info.schema, info.fragments)
                fields = self._fields[id(node)] = counter.below(node, info.return_type)
            total += fields
        return max(total, 1)


NOTICED_AFTER_S = 0.05
"""How long an execution runs before it checks that its client is still there, in seconds; most end sooner."""


@contextmanager
def while_awaited(receive: Receive, execution: Execution) -> Iterator[None]:
    """Ends an execution and its pending calls if its client goes away."""
    loop = asyncio.get_running_loop()
    waiting: list[asyncio.Task[None]] = []
    timer = loop.call_later(NOTICED_AFTER_S, lambda: waiting.append(loop.create_task(_wait(receive, execution))))
    try:
        yield
    finally:
        timer.cancel()
        for task in waiting:
            task.cancel()


async def _wait(receive: Receive, execution: Execution) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    execution.stop(DeadlineExceeded("the client has gone"))
    deadline.end()


class SelectionSum:
    """Adds up numbers of the fields in a selection; each fragment is counted once."""

    def __init__(self, schema: GraphQLSchema, fragments: Mapping[str, FragmentDefinitionNode]) -> None:
        self._schema = schema
        self._fragments = fragments
        self._known: dict[object, int] = {}

    def inside(self, selection_set: SelectionSetNode, parent: GraphQLNamedType | None) -> int:
        total = 0
        for selection in selection_set.selections:
            if isinstance(selection, FieldNode):
                total += self._one(selection, parent)
            elif isinstance(selection, InlineFragmentNode):
                condition = selection.type_condition
                inner = self._schema.get_type(condition.name.value) if condition else parent
                total += self.inside(selection.selection_set, inner)
            elif isinstance(selection, FragmentSpreadNode):
                total += self._fragment(selection.name.value)
        return total

    @abstractmethod
    def field(self, node: FieldNode, parent: GraphQLNamedType, definition: GraphQLField) -> int:
        """Returns the number of a field that the schema has, including the fields inside it."""

    def place(self) -> object:
        """Returns what else the number of a fragment depends on at this place."""
        return None

    def _one(self, node: FieldNode, parent: GraphQLNamedType | None) -> int:
        if not isinstance(parent, GraphQLObjectType | GraphQLInterfaceType):
            return 1
        definition = self._schema.get_field(parent, node.name.value)
        return 1 if definition is None else self.field(node, parent, definition)

    def _fragment(self, name: str) -> int:
        key = (name, self.place())
        if key not in self._known:
            fragment = self._fragments[name]
            condition = self._schema.get_type(fragment.type_condition.name.value)
            self._known[key] = self.inside(fragment.selection_set, condition)
        return self._known[key]


class _FieldCounter(SelectionSum):
    """Counts the fields below a node; lists inside are counted when execution reaches them."""

    def below(self, node: FieldNode, returned: Any) -> int:
        return 0 if node.selection_set is None else self.inside(node.selection_set, get_named_type(returned))

    def field(self, node: FieldNode, _parent: GraphQLNamedType, definition: GraphQLField) -> int:
        return 1 if returns_list(definition) else 1 + self.below(node, definition.type)


def returns_list(field: GraphQLField) -> bool:
    return isinstance(get_nullable_type(field.type), GraphQLList)


def count_lists(schema: GraphQLSchema) -> None:
    """Makes every list field of a schema get its list from the execution.

    The context of each execution has to be a `shop.platform.graphql.schema.RequestContext`.
    """
    for named in schema.type_map.values():
        # Introspection's lists belong to graphql-core, and depend on the schema alone.
        if isinstance(named, GraphQLObjectType) and not named.name.startswith("__"):
            for field in filter(returns_list, named.fields.values()):
                field.resolve = _count(field.resolve or default_field_resolver)


def _count(resolve: GraphQLFieldResolver) -> Callable[..., Any]:
    def resolve_list(source: Any, info: GraphQLResolveInfo[Any], **arguments: Any) -> Any:
        items = resolve(source, info, **arguments)
        if isinstance(items, list | tuple):
            return info.context.execution.take(items, info)
        return _take_later(items, info) if info.is_awaitable(items) else items

    return resolve_list


async def _take_later(items: Awaitable[Any], info: GraphQLResolveInfo[Any]) -> Any:
    known = await items
    if known is None:
        return None
    taken = info.context.execution.take(known, info)
    return await taken if info.is_awaitable(taken) else taken
