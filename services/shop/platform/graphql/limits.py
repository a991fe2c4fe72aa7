"""Limits on the document of a request, measured before the document runs.

- characters: of the document, comments and spaces included.
- tokens: of the document; the parser stops at the limit.
- pairs: of fields with the same name in the answer, of fragment spreads, and of operations and variables, anywhere in
  the document. Validation compares pairs, so its time grows with the square of the number of repetitions.
- depth: fields inside fields; `{ product { title } }` has a depth of 2. Introspection does not count.
- aliases: in the document; the aliases of a fragment count once.
- digits: of one number in the document; Python refuses to read numbers with thousands of digits.

For clients' documents, the cost counts too: see `shop.platform.graphql.cost`. The limits of an execution are in
`shop.platform.graphql.execution`.

A fragment is measured once, even if it is spread often, so measuring takes time linear in the document's size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
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
    Token,
    TokenKind,
)

from shop.errors import ResourceExhausted

MAX_CHARACTERS = 16_384
"""GraphiQL's query for the whole schema has about 1,500 characters, 180 tokens and 300 pairs."""
MAX_TOKENS = 500
MAX_PAIRS = 3000
MAX_DEPTH = 10
MAX_ALIASES = 20
MAX_DIGITS = 50


@dataclass(frozen=True, slots=True)
class Shape:
    """How deep a document is, how many aliases it has, and the maximum number of pairs that validation compares."""

    depth: int
    aliases: int
    pairs: int


def check_length(text: str) -> None:
    if len(text) > MAX_CHARACTERS:
        raise ResourceExhausted(
            f"the document has {len(text)} characters; the limit is {MAX_CHARACTERS}; send values as variables"
        )


def check_shape(document: DocumentNode) -> Shape:
    """Measures a document that is parsed with locations; raises `ResourceExhausted` if it is above a limit."""
    fragments = fragments_of(document)
    depths: dict[str, int] = {}
    selections = list(selections_of(document))
    shape = Shape(
        depth=max((_depth(one.selection_set, fragments, depths) for one in operations_of(document)), default=0),
        aliases=sum(isinstance(one, FieldNode) and one.alias is not None for one in selections),
        pairs=_pairs(document, selections),
    )
    if shape.aliases > MAX_ALIASES:
        raise ResourceExhausted(f"the document has {shape.aliases} aliases; the limit is {MAX_ALIASES}")
    if shape.depth > MAX_DEPTH:
        raise ResourceExhausted(f"the operation has a depth of {shape.depth}; the limit is {MAX_DEPTH}")
    if shape.pairs > MAX_PAIRS:
        raise ResourceExhausted(
            f"the document has {shape.pairs} pairs of fields with the same name, of fragment spreads, or of operations "
            f"and variables; the limit is {MAX_PAIRS}; ask for each field once"
        )
    return shape


def check_numbers(document: DocumentNode) -> None:
    """Raises `ResourceExhausted` if a number in a document has more digits than the limit."""
    for token in _tokens(document):
        if token.kind in (TokenKind.INT, TokenKind.FLOAT) and len(token.value or "") > MAX_DIGITS:
            raise ResourceExhausted(
                f"the number at line {token.line}, column {token.column} has {len(token.value or '')} digits; "
                f"the limit is {MAX_DIGITS}"
            )


def check_parser_limits(message: str) -> None:
    """Raises ResourceExhausted if the parser's message is about a limit, and not about a mistake."""
    if "more than" in message and "tokens" in message:
        raise ResourceExhausted(f"the document has more than {MAX_TOKENS} tokens, which is the limit")
    if "nested too deeply" in message:
        raise nested_too_deeply()


def nested_too_deeply() -> ResourceExhausted:
    """Returns the error for a document that is too deep to be measured."""
    return ResourceExhausted(f"the document is nested too deeply to be measured; the limit is a depth of {MAX_DEPTH}")


def operations_of(document: DocumentNode) -> list[OperationDefinitionNode]:
    return [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]


def name_of(operation: OperationDefinitionNode) -> str:
    """Returns the name of an operation; empty for an operation without a name."""
    return operation.name.value if operation.name else ""


def first_field(operation: OperationDefinitionNode) -> str:
    """Returns the schema's name of an operation's first field; empty if a fragment comes first."""
    first = operation.selection_set.selections[0]
    return first.name.value if isinstance(first, FieldNode) else ""


def fragments_of(document: DocumentNode) -> dict[str, FragmentDefinitionNode]:
    return {node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)}


def inner_of(selection: SelectionNode) -> SelectionSetNode | None:
    """Returns the selections inside a selection; None for a leaf, and for the spread of a named fragment."""
    return selection.selection_set if isinstance(selection, FieldNode | InlineFragmentNode) else None


def _tokens(document: DocumentNode) -> Iterator[Token]:
    token = document.loc.start_token if document.loc is not None else None
    while token is not None:
        yield token
        token = token.next


def selections_of(document: DocumentNode) -> Iterator[SelectionNode]:
    """Yields all selections of all operations and fragments, including fragments with the same name."""
    definitions = (OperationDefinitionNode, FragmentDefinitionNode)
    pending = [node.selection_set for node in document.definitions if isinstance(node, definitions)]
    while pending:
        for selection in pending.pop().selections:
            yield selection
            inner = inner_of(selection)
            if inner is not None:
                pending.append(inner)


def _pairs(document: DocumentNode, selections: Iterable[SelectionNode]) -> int:
    # All spreads count under one name: validation compares each fragment with every other fragment.
    names = Counter(
        (one.alias or one.name).value if isinstance(one, FieldNode) else None
        for one in selections
        if not isinstance(one, InlineFragmentNode)
    )
    variables = sum(token.kind is TokenKind.DOLLAR for token in _tokens(document))
    return sum(count * (count - 1) // 2 for count in names.values()) + len(operations_of(document)) * variables


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
                # A fragment that spreads itself comes here again; validation refuses such a fragment.
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
