"""Which fields of a schema are attributes that an answer can take as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import strawberry
from graphql import GraphQLEnumType, GraphQLNamedType, GraphQLObjectType, get_nullable_type
from strawberry.types.base import StrawberryObjectDefinition

from graphql_gateway.scalars import serialize_moment
from shop.clients import Address, OrderStatus, PaymentStatus
from shop.money import Money

_ENUMS: Mapping[str, type] = {"OrderStatus": OrderStatus, "PaymentStatus": PaymentStatus}
_OBJECTS: Mapping[str, type] = {"Address": Address, "Money": Money}
"""Types whose objects are the services' own values; of all others, they are Strawberry's classes."""

_ATTRIBUTES: Mapping[str, dict[str, str]] = {"OrderLine": {"lineNumber": "place"}}
"""Fields with a resolver that is only needed where this attribute is None."""


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A field that is an attribute.

    Attributes:
        attribute: Its name in Python.
        kind: The exact class that its value must have, or else the general way is taken.
        coerce: Makes the answer's value of it, or None to take the general way; absent for the value itself.
        type: The GraphQL type of an object, of which more is asked; None for a leaf.
    """

    attribute: str
    kind: type
    coerce: Callable[[Any], Any] | None = None
    type: GraphQLObjectType | None = None


@dataclass(frozen=True, slots=True)
class Shortcuts:
    """The shortcuts of a schema.

    Attributes:
        fields: By type's name, and then by field's name in GraphQL.
        classes: The class of each type's objects.
    """

    fields: Mapping[str, Mapping[str, Shortcut]]
    classes: Mapping[str, type]


def shortcuts_of(schema: strawberry.Schema) -> Shortcuts:
    """Finds the fields of a schema that have no resolver.

    Args:
        schema: Strawberry's.
    """
    definitions = {
        name: concrete.definition
        for name, concrete in schema.schema_converter.type_map.items()
        if isinstance(concrete.definition, StrawberryObjectDefinition) and not concrete.definition.is_input
    }
    classes = {name: _OBJECTS.get(name, definition.origin) for name, definition in definitions.items()}
    fields = {}
    for name, definition in definitions.items():
        graphql_type = schema._schema.type_map[name]
        if isinstance(graphql_type, GraphQLObjectType):
            found = {
                schema.config.name_converter.from_field(field): field.python_name
                for field in definition.fields
                if field.is_basic_field
            } | _ATTRIBUTES.get(name, {})
            shortcuts = {
                graphql_name: _shortcut(attribute, get_nullable_type(graphql_type.fields[graphql_name].type), classes)
                for graphql_name, attribute in found.items()
                if graphql_name in graphql_type.fields
            }
            fields[name] = {key: shortcut for key, shortcut in shortcuts.items() if shortcut is not None}
    return Shortcuts(fields, classes)


def _shortcut(attribute: str, type_: object, classes: Mapping[str, type]) -> Shortcut | None:
    if not isinstance(type_, GraphQLNamedType):
        return None
    if isinstance(type_, GraphQLObjectType):
        return Shortcut(attribute, classes[type_.name], type=type_)
    if isinstance(type_, GraphQLEnumType) and type_.name in _ENUMS:
        kind = _ENUMS[type_.name]
        return Shortcut(attribute, kind, {member: member.name for member in kind}.get)  # type: ignore[attr-defined]
    return _SCALARS[type_.name](attribute) if type_.name in _SCALARS else None


def _int32(value: int) -> int | None:
    return value if -(2**31) <= value < 2**31 else None


_SCALARS: Mapping[str, Callable[[str], Shortcut]] = {
    "ID": lambda attribute: Shortcut(attribute, str),
    "String": lambda attribute: Shortcut(attribute, str),
    "Boolean": lambda attribute: Shortcut(attribute, bool),
    "Int": lambda attribute: Shortcut(attribute, int, _int32),
    "Long": lambda attribute: Shortcut(attribute, int),
    "DateTime": lambda attribute: Shortcut(attribute, datetime, serialize_moment),
}
