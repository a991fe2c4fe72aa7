"""Strawberry's schema, which executes a document that has been prepared."""

from __future__ import annotations

from typing import Any

import strawberry
from graphql import DocumentNode, GraphQLError
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

    def check_cost(self, cost: int) -> None:
        """Looks at the cost of the operation; without a limit, unless a subclass has one.

        Raises:
            ResourceExhausted: It is above the limit for whoever is asking.
        """


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
            config=StrawberryConfig(scalar_map=SCALARS),
        )

    def _create_execution_context(self, *args: Any, **kwargs: Any) -> ExecutionContext:
        # An extension could do the same, but its hooks are wrapped anew in each request, which takes 20 µs.
        context = super()._create_execution_context(*args, **kwargs)
        context.graphql_document = context.context.document
        context.pre_execution_errors = []
        return context

    def _get_custom_context_kwargs(
        self, operation_extensions: dict[str, Any] | None = None, *, sync: bool = False
    ) -> dict[str, Any]:
        # graphql-core's suggestions for values fail with texts whose lower case is longer, as that of "\u0130".
        return {**super()._get_custom_context_kwargs(operation_extensions, sync=sync), "hide_suggestions": True}

    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        """Leaves the log to `shop.platform.graphql.errors`, which knows the errors that clients are meant to see."""
