"""Tells what a query asks of an object, so that nothing is fetched for its identifier alone."""

from __future__ import annotations

from collections.abc import Mapping

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    IntValueNode,
    SelectionSetNode,
    VariableNode,
)

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


def find(info: GatewayInfo, *path: str) -> list[FieldNode]:
    """Returns where the query asks for a field inside the field in hand: several places, if it has aliases.

    Args:
        info: Of the field in hand.
        path: GraphQL names from there on: "edges", "node", "reviews".
    """
    raw = info._raw_info
    found: list[FieldNode] = []
    for node in raw.field_nodes:
        _find(node.selection_set, path, raw.fragments, found)
    return found


def first_of(info: GatewayInfo, node: FieldNode, default: int) -> int | None:
    """Returns the `first` of a field inside the field in hand; None if it is not a number.

    Args:
        info: Of the field in hand.
        node: The field inside it.
        default: What the schema says where the query says nothing.
    """
    for argument in node.arguments or ():
        if argument.name.value == "first":
            if isinstance(argument.value, IntValueNode):
                return int(argument.value.value)
            if isinstance(argument.value, VariableNode):
                value = info.variable_values.get(argument.value.name.value, default)
                return value if isinstance(value, int) else None
            return None
    return default


def within(info: GatewayInfo, node: FieldNode, known: frozenset[str]) -> bool:
    """Tells whether only known fields are asked of an object inside the field in hand.

    Args:
        info: Of the field in hand.
        node: The field that returns the object.
        known: GraphQL names of the fields that need no call.
    """
    return node.selection_set is None or _within(node.selection_set, known, info._raw_info.fragments)


def _find(
    selection_set: SelectionSetNode | None,
    path: tuple[str, ...],
    fragments: Mapping[str, FragmentDefinitionNode],
    found: list[FieldNode],
) -> None:
    for selection in selection_set.selections if selection_set is not None else ():
        if isinstance(selection, FieldNode):
            if selection.name.value == path[0]:
                if len(path) == 1:
                    found.append(selection)
                else:
                    _find(selection.selection_set, path[1:], fragments, found)
        elif isinstance(selection, FragmentSpreadNode):
            _find(fragments[selection.name.value].selection_set, path, fragments, found)
        elif isinstance(selection, InlineFragmentNode):
            _find(selection.selection_set, path, fragments, found)


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
