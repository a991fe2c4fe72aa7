"""Whether everyone gets the same answer to a document: only then may a shared cache keep it."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from graphql import BREAK, DocumentNode, FieldNode, GraphQLSchema, TypeInfo, TypeInfoVisitor, Visitor, visit


def is_public(schema: GraphQLSchema, document: DocumentNode, public: Set[str]) -> bool:
    """Tells whether all fields of a document are public: those of its operations and fragments.

    Args:
        schema: Schema that the document is valid for.
        document: The document.
        public: Names of types whose fields are all public, and of single fields: "Query.products". Introspection is
            public too.
    """
    if not public:
        return False
    types = TypeInfo(schema)
    visitor = _PersonalFields(types, public)
    visit(document, TypeInfoVisitor(types, visitor))
    return not visitor.has_any


class _PersonalFields(Visitor):
    def __init__(self, types: TypeInfo, public: Set[str]) -> None:
        super().__init__()
        self.has_any = False
        self._types = types
        self._public = public

    def enter_field(self, node: FieldNode, *_: object) -> Any:
        name, parent = node.name.value, self._types.get_parent_type()
        owner = "" if parent is None else parent.name
        is_introspection = name.startswith("__") or owner.startswith("__")
        if is_introspection or owner in self._public or f"{owner}.{name}" in self._public:
            return None
        self.has_any = True
        return BREAK
