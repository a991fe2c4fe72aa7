"""Strawberry's schema, which executes a document that has been prepared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import strawberry
from graphql import DocumentNode, GraphQLError
from strawberry.extensions import SchemaExtension
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionContext

from shop.platform.graphql.scalars import SCALARS


class RequestContext:
    """The context that the resolvers of one request share.

    Attributes:
        document: What the request asks for, parsed and validated; set by the endpoint.
    """

    __slots__ = ("document",)

    document: DocumentNode


class ReadyDocument(SchemaExtension):
    """Lets Strawberry skip parsing and validation: the context of the request holds the prepared document."""

    def on_operation(self) -> Iterator[None]:
        """Hands the document over."""
        self.execution_context.graphql_document = self.execution_context.context.document
        self.execution_context.pre_execution_errors = []
        yield


class Schema(strawberry.Schema):
    """A schema with the shop's scalars, run by `shop.platform.graphql.endpoint`.

    Args:
        query: The type of everything that can be read.
        mutation: The type of everything that can be changed.
        types: Types that no field names, as those behind an interface.
    """

    def __init__(self, query: type, mutation: type, types: tuple[type, ...] = ()) -> None:
        super().__init__(
            query=query,
            mutation=mutation,
            types=types,
            extensions=[ReadyDocument],
            config=StrawberryConfig(scalar_map=SCALARS),
        )

    def _get_custom_context_kwargs(
        self, operation_extensions: dict[str, Any] | None = None, *, sync: bool = False
    ) -> dict[str, Any]:
        # graphql-core's suggestions for values fail with texts whose lower case is longer, as that of "\u0130".
        return {**super()._get_custom_context_kwargs(operation_extensions, sync=sync), "hide_suggestions": True}

    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        """Leaves the log to `shop.platform.graphql.errors`, which knows the errors that clients are meant to see."""
