"""Analyses what a query selects from an object: the identifier alone needs no call, and lists are read ahead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import strawberry
from graphql import FieldNode, FragmentSpreadNode, InlineFragmentNode, SelectionNode, Undefined, value_from_ast_untyped

from shop.platform.graphql.schema import core_info


def asks_only(info: strawberry.Info[Any, Any], known: frozenset[str]) -> bool:
    """Returns whether the query selects only fields that need no call; `known` has their GraphQL names."""
    return only(info, core_info(info).field_nodes, known)


def only(info: strawberry.Info[Any, Any], nodes: Iterable[FieldNode], known: frozenset[str]) -> bool:
    """Returns whether these selections of an object include only fields that are already known.

    Args:
        nodes: The field that returns the object: one node for each time that the query names it.
        known: GraphQL names of the fields that need no call.
    """
    return all(node.name.value in known for node in _inside(info, nodes))


def find_fields(info: strawberry.Info[Any, Any], *path: str) -> list[FieldNode]:
    """Returns the selected fields at the end of a path of GraphQL names, which begins inside the current field."""
    nodes = core_info(info).field_nodes
    for name in path:
        nodes = [node for node in _inside(info, nodes) if node.name.value == name]
    return nodes


def argument(info: strawberry.Info[Any, Any], node: FieldNode, name: str, default: object) -> object:
    for given in node.arguments or ():
        if given.name.value == name:
            value = value_from_ast_untyped(given.value, info.variable_values)
            return default if value is Undefined else value
    return default


def _inside(info: strawberry.Info[Any, Any], nodes: Iterable[FieldNode]) -> Iterator[FieldNode]:
    raw = core_info(info)
    # Each fragment once: fragments that spread each other twice would double the work at every level.
    visited: set[str] = set()
    pending = [node.selection_set for node in nodes]
    while pending:
        selection_set = pending.pop()
        for selection in selection_set.selections if selection_set is not None else ():
            if selection.directives and not _included(info, selection):
                continue
            if isinstance(selection, FieldNode):
                yield selection
            elif isinstance(selection, InlineFragmentNode):
                pending.append(selection.selection_set)
            elif isinstance(selection, FragmentSpreadNode) and selection.name.value not in visited:
                visited.add(selection.name.value)
                pending.append(raw.fragments[selection.name.value].selection_set)


def _included(info: strawberry.Info[Any, Any], selection: SelectionNode) -> bool:
    for directive in selection.directives or ():
        name = directive.name.value
        for condition in directive.arguments or ():
            if name in ("skip", "include") and value_from_ast_untyped(condition.value, info.variable_values) is (
                name == "skip"
            ):
                return False
    return True
