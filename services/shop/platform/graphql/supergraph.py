"""The supergraph that routers serve, compared with the subgraphs: `python -m shop.platform.graphql.supergraph`.

check FILE      says how the subgraphs differ from the committed supergraph, without a composer
write FOLDER    writes the SDL of each subgraph to a file, for a composer
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from graphql import (
    DefinitionNode,
    DocumentNode,
    EnumValueNode,
    FieldDefinitionNode,
    GraphQLSchema,
    ObjectTypeDefinitionNode,
    TypeDefinitionNode,
    Visitor,
    build_ast_schema,
    find_breaking_changes,
    parse,
    visit,
)

from shop.contract.calls import NOTIFICATION, SERVICES, Service
from shop.platform.graphql.subgraph import subgraph_of

USAGE = "usage: python -m shop.platform.graphql.supergraph check FILE | write FOLDER"
SUBGRAPHS: Mapping[str, Service[object]] = {one.name: one for one in SERVICES if one is not NOTIFICATION}
_OF_FEDERATION = ("_", "join__", "link__")


def differences(supergraph: str) -> Iterator[str]:
    """Yields how the subgraphs differ from a supergraph's SDL: in clients' fields, and which subgraph answers them."""
    composed = parse(supergraph, no_location=True)
    documents = {name: parse(subgraph_of(one).as_str(), no_location=True) for name, one in SUBGRAPHS.items()}
    joined = _schema([definition for document in documents.values() for definition in document.definitions])
    committed = _schema(composed.definitions)
    for change in find_breaking_changes(committed, joined):
        yield f"the subgraphs have changed: {change.description}"
    for change in find_breaking_changes(joined, committed):
        yield f"the supergraph does not have it yet: {change.description}"
    owners = _owners(composed)
    for name, document in documents.items():
        served = {(one.name.value, field.name.value) for one, field in _fields(document.definitions)}
        for type_name, field_name in sorted(served ^ owners.get(name.upper(), set())):
            yield f"{type_name}.{field_name}: only one of subgraph and supergraph says that {name} serves it"


def _schema(definitions: Iterable[DefinitionNode]) -> GraphQLSchema:
    """Returns the schema that clients see; several definitions may contribute to one type."""
    merged: dict[str, TypeDefinitionNode] = {}
    for one in definitions:
        if not isinstance(one, TypeDefinitionNode) or _is_internal(one.name.value):
            continue
        name, known = one.name.value, merged.get(one.name.value)
        if isinstance(one, ObjectTypeDefinitionNode):
            fields = {field.name.value: field for field in (getattr(known, "fields", None) or ())}
            fields |= {field.name.value: field for _, field in _fields([one])}
            one = ObjectTypeDefinitionNode(name=one.name, fields=tuple(fields.values()), directives=(), interfaces=())
        merged[name] = visit(one, _WithoutDirectives())
    return build_ast_schema(DocumentNode(definitions=tuple(merged.values())), assume_valid=True)


class _WithoutDirectives(Visitor):
    def enter_directive(self, *_: object) -> object:
        return self.REMOVE


def _fields(definitions: Iterable[DefinitionNode]) -> Iterator[tuple[ObjectTypeDefinitionNode, FieldDefinitionNode]]:
    for one in definitions:
        if isinstance(one, ObjectTypeDefinitionNode) and not _is_internal(one.name.value):
            for field in one.fields or ():
                if not _is_internal(field.name.value):
                    yield one, field


def _is_internal(name: str) -> bool:
    return name.startswith(_OF_FEDERATION)


def _owners(supergraph: DocumentNode) -> dict[str, set[tuple[str, str]]]:
    """Returns each subgraph's fields, by its name in capitals; one without `join__field` is in all of its type."""
    owners: dict[str, set[tuple[str, str]]] = {}
    for one, field in _fields(supergraph.definitions):
        for graph in _graphs(field, "join__field") or _graphs(one, "join__type"):
            owners.setdefault(graph, set()).add((one.name.value, field.name.value))
    return owners


def _graphs(node: ObjectTypeDefinitionNode | FieldDefinitionNode, directive: str) -> set[str]:
    return {
        argument.value.value
        for one in node.directives or ()
        if one.name.value == directive
        for argument in one.arguments or ()
        if argument.name.value == "graph" and isinstance(argument.value, EnumValueNode)
    }


def main(arguments: list[str]) -> int:
    """Runs the command that the arguments name; the module's docstring lists the commands."""
    match arguments:
        case ["check", file]:
            changes = list(differences(Path(file).read_text()))
            for line in changes:
                print(f"{file}: {line}", file=sys.stderr)
            if changes:
                print("Compose it again: make federation", file=sys.stderr)
            return 1 if changes else 0
        case ["write", folder]:
            for name, service in SUBGRAPHS.items():
                Path(folder, f"{name}.graphql").write_text(f"{subgraph_of(service).as_str()}\n")
            return 0
    print(f"error: unknown arguments {' '.join(arguments)}\n{USAGE}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
