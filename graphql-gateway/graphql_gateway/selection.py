"""Tells what a query asks of an object, so that nothing is fetched for its identifier alone."""

from __future__ import annotations

from collections.abc import Iterator

from graphql import FieldNode, FragmentSpreadNode, InlineFragmentNode

from graphql_gateway.context import GatewayInfo


def asks_only(info: GatewayInfo, known: frozenset[str]) -> bool:
    """Tells whether the query asks only for fields that are known already.

    Args:
        info: Of the field that returns the object.
        known: GraphQL names of the fields that need no call.
    """
    return all(name in known for name in _asked(info))


def asks_for(info: GatewayInfo, name: str) -> bool:
    """Tells whether the query asks for a field.

    Args:
        info: Of the field that returns the object.
        name: The field's GraphQL name.
    """
    return name in _asked(info)


def _asked(info: GatewayInfo) -> Iterator[str]:
    raw = info._raw_info
    # Each fragment once: fragments that spread each other twice would double the work with every one of them.
    visited: set[str] = set()
    pending = [node.selection_set for node in raw.field_nodes]
    while pending:
        selection_set = pending.pop()
        for selection in selection_set.selections if selection_set is not None else ():
            if isinstance(selection, FieldNode):
                yield selection.name.value
            elif isinstance(selection, InlineFragmentNode):
                pending.append(selection.selection_set)
            elif isinstance(selection, FragmentSpreadNode) and selection.name.value not in visited:
                visited.add(selection.name.value)
                pending.append(raw.fragments[selection.name.value].selection_set)
