"""Tells what a query asks of an object, so that nothing is fetched for its identifier alone."""

from __future__ import annotations

from collections.abc import Mapping

from graphql import FieldNode, FragmentDefinitionNode, FragmentSpreadNode, InlineFragmentNode, SelectionSetNode

from graphql_gateway.context import GatewayInfo


def asks_only(info: GatewayInfo, known: frozenset[str]) -> bool:
    """Tells whether the query asks only for fields that are known already.

    Args:
        info: Of the field that returns the object.
        known: GraphQL names of the fields that need no call.
    """
    raw = info._raw_info
    for node in raw.field_nodes:
        if node.selection_set is not None and not _within(node.selection_set, known, raw.fragments):
            return False
    return True


def asks(info: GatewayInfo, name: str) -> bool:
    """Tells whether the query asks for a field of the object, as far as that shows without a look at fragments.

    Args:
        info: Of the field that returns the object.
        name: GraphQL name of the object's field.
    """
    return any(
        isinstance(selection, FieldNode) and selection.name.value == name
        for node in info._raw_info.field_nodes
        if node.selection_set is not None
        for selection in node.selection_set.selections
    )


def _within(
    selection_set: SelectionSetNode, known: frozenset[str], fragments: Mapping[str, FragmentDefinitionNode]
) -> bool:
    for selection in selection_set.selections:
        if isinstance(selection, FieldNode):
            if selection.name.value not in known:
                return False
        elif isinstance(selection, FragmentSpreadNode):
            if not _within(fragments[selection.name.value].selection_set, known, fragments):
                return False
        elif isinstance(selection, InlineFragmentNode) and not _within(selection.selection_set, known, fragments):
            return False
    return True
