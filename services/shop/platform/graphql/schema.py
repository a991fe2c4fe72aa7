"""Strawberry's schema, which executes a document that has been prepared."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from typing import Any, TypeAlias

import strawberry
from graphql import DocumentNode, GraphQLError, OperationDefinitionNode
from strawberry.extensions import SchemaExtension
from strawberry.schema.config import StrawberryConfig
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext
from strawberry.types import ExecutionContext
from strawberry.types.execution import ExecutionResult, PreExecutionError, StreamExecutionResult
from strawberry.types.graphql import OperationType

from shop.errors import ShopError
from shop.platform.access.rules import Caller, current_caller
from shop.platform.graphql.error_format import shown_errors
from shop.platform.graphql.errors import RequestError
from shop.platform.graphql.execution import Execution, count_lists
from shop.platform.graphql.internals import core_schema
from shop.platform.graphql.scalars import SCALARS


class RequestContext:
    """The context that the resolvers of one request share.

    Attributes:
        document: What the request asks for, parsed and validated; set by the endpoint.
        execution: How far its execution may go; set by the endpoint.
        is_public: Whether everyone gets the same answer; set by the endpoint.
    """

    __slots__ = ("document", "execution", "is_public")

    document: DocumentNode
    execution: Execution
    is_public: bool

    @property
    def caller(self) -> Caller:
        """Who is asking.

        Raises:
            Unauthenticated: There is no token, or it is not valid.
        """
        return current_caller()

    def check_cost(self, cost: int, operation: OperationDefinitionNode) -> None:
        """Checks the cost of the operation; without a limit, unless a subclass has one.

        Raises:
            ResourceExhausted: It is above the limit for whoever is asking.
        """


OpenStream: TypeAlias = Callable[[RequestContext], Awaitable[AsyncGenerator[StreamExecutionResult]]]


class Socket(ABC):
    """The context of a WebSocket.

    Attributes:
        connection_params: What came with its `connection_init`.
    """

    def __init__(self) -> None:
        self.connection_params: dict[str, Any] = {}

    @abstractmethod
    def admit(self) -> None:
        """Checks the token that came with the handshake or with `connection_init`.

        Raises:
            Unauthenticated: There is no token, or it is not valid.
            TooManyRequests: The caller has too many WebSockets open, or opens them too fast.
            Unavailable: The process has too many WebSockets open.
        """

    @abstractmethod
    def follow(
        self, query: str, variables: dict[str, Any] | None, operation_name: str | None, open_stream: OpenStream
    ) -> AsyncGenerator[StreamExecutionResult]:
        """Returns the results of a subscription, which has a context of its own; or why it is refused.

        Args:
            query: Its document.
            variables: The values of its variables; None for none.
            operation_name: The operation of the document; None if there is only one.
            open_stream: Begins to execute it in its context, which has the document.
        """


class _Prepared(SchemaExtension):
    """Has the context's document executed as it is, since it was parsed and validated before."""

    def on_operation(self) -> Iterator[None]:
        execution = self.execution_context
        execution.graphql_document = execution.context.document
        execution.validation_rules = ()
        yield

    def on_stream_result(self, result: StreamExecutionResult) -> Iterator[None]:
        if isinstance(result, ExecutionResult):
            stopped = self.execution_context.context.execution.error
            if stopped is not None:
                result.data, result.errors = None, [GraphQLError(stopped.message, original_error=stopped)]
            if result.errors:
                result.errors = shown_errors(result.errors)
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
        subscription: The type of everything that can be followed; None for nothing.
        types: Types that no field names, as those behind an interface.
    """

    def __init__(
        self, query: type, mutation: type, subscription: type | None = None, types: tuple[type, ...] = ()
    ) -> None:
        super().__init__(
            query=query,
            mutation=mutation,
            subscription=subscription,
            types=types,
            extensions=[_Prepared],
            execution_context_class=_Execution,
            config=StrawberryConfig(scalar_map=SCALARS),
        )
        count_lists(core_schema(self))

    async def stream(
        self,
        query: str | None,
        variable_values: dict[str, Any] | None = None,
        context_value: Any | None = None,
        root_value: Any | None = None,
        operation_name: str | None = None,
        operation_extensions: dict[str, Any] | None = None,
        allowed_operation_types: Iterable[OperationType] | None = None,
    ) -> AsyncGenerator[StreamExecutionResult]:
        """Executes an operation and yields its results; one of a socket has a context of its own."""
        open_stream = super().stream

        def stream(context: Any) -> Awaitable[AsyncGenerator[StreamExecutionResult]]:
            return open_stream(
                query,
                variable_values,
                context,
                root_value,
                operation_name,
                operation_extensions,
                allowed_operation_types,
            )

        if isinstance(context_value, Socket):
            return context_value.follow(query or "", variable_values, operation_name, stream)
        return await stream(context_value)

    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        """Leaves the log to `shop.platform.graphql.error_format`, which knows the errors that clients may see."""


async def refusal(error: RequestError | ShopError) -> AsyncGenerator[StreamExecutionResult]:
    """Yields the result of a subscription that is not executed."""
    errors = error.errors if isinstance(error, RequestError) else [GraphQLError(error.message, original_error=error)]
    yield PreExecutionError(data=None, errors=shown_errors(errors))
