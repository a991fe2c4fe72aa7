"""The two things that Strawberry keeps to itself and that this shop needs, read here and nowhere else.

`services/tests/unit/test_graphql_internals.py` fails if a new version of Strawberry moves one of them.
"""

from __future__ import annotations

from typing import Any

import strawberry
from graphql import GraphQLResolveInfo, GraphQLSchema


def core_schema(schema: strawberry.Schema) -> GraphQLSchema:
    """Returns graphql-core's schema behind Strawberry's, to validate and measure documents before they are executed."""
    return schema._schema  # noqa: SLF001


def core_info(info: strawberry.Info) -> GraphQLResolveInfo[Any]:
    """Returns graphql-core's information on a field.

    `Info.selected_fields`, which is public, follows each spread of a fragment: a document of 500 tokens can make that
    2 to the power of 38 fields.
    """
    return info._raw_info  # noqa: SLF001
