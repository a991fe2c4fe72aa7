"""Limits on the document of a request, measured before anything runs.

- tokens: of the document; the parser stops at the limit.
- depth: fields inside fields; `{ product { title } }` has a depth of 2. Introspection does not count.
- aliases: in the document, fragments once.
- digits: of one number in the document; Python itself refuses to read numbers of thousands of digits.

The GraphQL gateway, which anybody can reach, counts the cost of a document too: see `graphql_gateway.cost`.

Fragments are measured once however often they are spread, so measuring takes time linear in the document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    TokenKind,
)

from shop.errors import ResourceExhausted

MOST_TOKENS = 1000
MOST_DEPTH = 10
MOST_ALIASES = 20
MOST_DIGITS = 50

_NUMBERS = (TokenKind.INT, TokenKind.FLOAT)


@dataclass(frozen=True, slots=True)
class Shape:
    """How deep a document is, and how many aliases it has."""

    depth: int
    aliases: int


def check_shape(document: DocumentNode) -> Shape:
    """Measures depth and aliases.

    Args:
        document: Parsed, but not validated.

    Raises:
        ResourceExhausted: One of them is above its limit.
    """
    fragments = fragments_of(document)
    depths: dict[str, int] = {}
    shape = Shape(
        depth=max((_depth(one.selection_set, fragments, depths) for one in operations_of(document)), default=0),
        aliases=sum(_aliases(one.selection_set) for one in [*operations_of(document), *fragments.values()]),
    )
    if shape.aliases > MOST_ALIASES:
        raise ResourceExhausted(f"the document has {shape.aliases} aliases; the limit is {MOST_ALIASES}")
    if shape.depth > MOST_DEPTH:
        raise ResourceExhausted(f"the operation has a depth of {shape.depth}; the limit is {MOST_DEPTH}")
    return shape


def check_numbers(document: DocumentNode) -> None:
    """Looks at the length of the numbers in a document.

    Args:
        document: Parsed, with locations.

    Raises:
        ResourceExhausted: One of them is above the limit.
    """
    token = document.loc.start_token if document.loc is not None else None
    while token is not None:
        if token.kind in _NUMBERS and len(token.value or "") > MOST_DIGITS:
            raise ResourceExhausted(
                f"the number at line {token.line}, column {token.column} has {len(token.value or '')} digits; "
                f"the limit is {MOST_DIGITS}"
            )
        token = token.next


def check_parser_limits(message: str) -> None:
    """Raises ResourceExhausted if the parser's message says that a limit stopped it, and not a mistake."""
    if "more than" in message and "tokens" in message:
        raise ResourceExhausted(f"the document has more than {MOST_TOKENS} tokens, which is the limit")
    if "nested too deeply" in message:
        raise nested_too_deeply()


def nested_too_deeply() -> ResourceExhausted:
    """Returns the error for a document that is too deep to be measured."""
    return ResourceExhausted(f"the document is nested too deeply to be measured; the limit is a depth of {MOST_DEPTH}")


def operations_of(document: DocumentNode) -> list[OperationDefinitionNode]:
    """Returns the operations of a document."""
    return [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]


def name_of(operation: OperationDefinitionNode) -> str:
    """Returns the name of an operation; empty if it has none."""
    return operation.name.value if operation.name else ""


def fragments_of(document: DocumentNode) -> dict[str, FragmentDefinitionNode]:
    """Returns the named fragments of a document."""
    return {node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)}


def inner_of(selection: SelectionNode) -> SelectionSetNode | None:
    """Returns the selections inside a selection: none in a leaf or in the spread of a named fragment."""
    return selection.selection_set if isinstance(selection, FieldNode | InlineFragmentNode) else None


def _aliases(selection_set: SelectionSetNode) -> int:
    total = 0
    for selection in selection_set.selections:
        if isinstance(selection, FieldNode) and selection.alias is not None:
            total += 1
        inner = inner_of(selection)
        if inner is not None:
            total += _aliases(inner)
    return total


def _depth(
    selection_set: SelectionSetNode, fragments: Mapping[str, FragmentDefinitionNode], depths: dict[str, int]
) -> int:
    deepest = 0
    for selection in selection_set.selections:
        inner = inner_of(selection)
        depth = 0
        if isinstance(selection, FragmentSpreadNode):
            name = selection.name.value
            if name not in depths:
                # A fragment that spreads itself is met again while it is measured; validation refuses it.
                depths[name] = 0
                if name in fragments:
                    depths[name] = _depth(fragments[name].selection_set, fragments, depths)
            depth = depths[name]
        elif inner is not None and not _is_introspection(selection):
            depth = _depth(inner, fragments, depths)
        deepest = max(deepest, depth + isinstance(selection, FieldNode))
    return deepest


def _is_introspection(selection: SelectionNode) -> bool:
    return isinstance(selection, FieldNode) and selection.name.value.startswith("__")
