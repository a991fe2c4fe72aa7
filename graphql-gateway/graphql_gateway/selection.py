"""Tells what a query asks of an object, so that nothing is fetched for its identifier alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from graphql import FieldNode, FragmentDefinitionNode, FragmentSpreadNode, InlineFragmentNode, SelectionSetNode

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
    for node in raw.field_nodes:
        yield from _names(node.selection_set, raw.fragments)


def _names(selection_set: SelectionSetNode | None, fragments: Mapping[str, FragmentDefinitionNode]) -> Iterator[str]:
    for selection in selection_set.selections if selection_set is not None else ():
        if isinstance(selection, FieldNode):
            yield selection.name.value
        elif isinstance(selection, FragmentSpreadNode):
            yield from _names(fragments[selection.name.value].selection_set, fragments)
        elif isinstance(selection, InlineFragmentNode):
            yield from _names(selection.selection_set, fragments)
