"""Calls resolvers without Strawberry's conversion of arguments, where there is nothing to convert.

Strawberry converts each argument of each call to its Python type: of use for input objects, but numbers and texts
come from graphql-core in their final form. A field such as `Product.reviews` is resolved once per item of a list, so
the difference shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import strawberry
from graphql import GraphQLArgument, GraphQLObjectType, GraphQLScalarType, get_nullable_type
from strawberry.types.base import StrawberryObjectDefinition
from strawberry.types.field import StrawberryField


def call_directly(schema: strawberry.Schema) -> None:
    """Lets graphql-core call the resolvers whose arguments are scalars, all of which take `self` and `info`.

    Args:
        schema: Strawberry's; it is changed.
    """
    for name, concrete in schema.schema_converter.type_map.items():
        graphql_type = schema._schema.type_map.get(name)
        if not isinstance(concrete.definition, StrawberryObjectDefinition):
            continue
        if not isinstance(graphql_type, GraphQLObjectType):
            continue
        for field in concrete.definition.fields:
            if field.base_resolver is None:
                continue
            graphql_field = graphql_type.fields[schema.config.name_converter.from_field(field)]
            if all(_is_scalar(argument) for argument in graphql_field.args.values()):
                graphql_field.resolve = _direct(field, field.base_resolver.wrapped_func, set(graphql_field.args))


def _is_scalar(argument: GraphQLArgument) -> bool:
    return isinstance(get_nullable_type(argument.type), GraphQLScalarType)


def _direct(field: StrawberryField, method: Any, names: set[str]) -> Callable[..., Any]:
    if names != {argument.python_name for argument in field.arguments}:
        raise ValueError(f"{field.python_name}: the arguments need the same names in Python and in GraphQL")

    def resolve(source: Any, raw: Any, **arguments: Any) -> Any:
        return method(source, strawberry.Info(raw, field), **arguments)

    return resolve
