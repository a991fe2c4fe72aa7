"""Strawberry's schema, which executes a document that has been prepared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import strawberry
from graphql import DocumentNode, GraphQLError
from strawberry.extensions import SchemaExtension
from strawberry.schema.config import StrawberryConfig
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext
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


class _Prepared(SchemaExtension):
    """Has the context's document executed as it is, since it was parsed and validated before."""

    def on_operation(self) -> Iterator[None]:
        execution = self.execution_context
        execution.graphql_document = execution.context.document
        execution.validation_rules = ()
        yield


class _Execution(StrawberryGraphQLCoreExecutionContext):
    """Suggests no values: graphql-core's search for them fails with texts whose lower case is longer, as "\u0130"."""

    @classmethod
    def build(cls, *args: Any, **kwargs: Any) -> Any:
        return super().build(*args, **(kwargs | {"hide_suggestions": True}))


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
            extensions=[_Prepared],
            execution_context_class=_Execution,
            config=StrawberryConfig(scalar_map=SCALARS),
        )

    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        """Leaves the log to `shop.platform.graphql.errors`, which knows the errors that clients are meant to see."""
