"""Strawberry's schema, which executes a document that has been prepared."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

import strawberry
from graphql import DocumentNode, GraphQLError, GraphQLResolveInfo, GraphQLSchema
from strawberry.extensions import SchemaExtension
from strawberry.schema.config import StrawberryConfig
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext
from strawberry.types import ExecutionContext
from strawberry.types.execution import ExecutionResult, PreExecutionError, StreamExecutionResult

from shop.errors import ShopError, Unauthenticated
from shop.platform.access.rules import Authenticator, Caller, current_caller
from shop.platform.config import EDGE_MARK
from shop.platform.graphql.error_format import RequestError, shown_errors
from shop.platform.graphql.execution import Execution, count_lists
from shop.platform.graphql.scalars import SCALARS

_MARK = EDGE_MARK.encode()


# Only these two functions read private attributes of Strawberry; `test_graphql_internals.py` fails if a new version of
# Strawberry moves one of them.
def core_schema(schema: strawberry.Schema) -> GraphQLSchema:
    """Returns graphql-core's schema behind Strawberry's, to validate and measure documents before they are executed."""
    return schema._schema  # noqa: SLF001


def core_info(info: strawberry.Info) -> GraphQLResolveInfo[Any]:
    """Returns graphql-core's data about a field.

    `Info.selected_fields`, which is public, follows each spread of a fragment: a document of 500 tokens can turn into
    2 to the power of 38 fields.
    """
    return info._raw_info  # noqa: SLF001


class RequestContext:
    """The context that the resolvers of one request share; the endpoint sets all attributes but the address.

    Attributes:
        address: The client's address, as the edge gives it; None for a request from inside.
    """

    __slots__ = ("address", "document", "execution", "is_public")

    address: str | None
    document: DocumentNode
    execution: Execution
    is_public: bool

    def __init__(self, address: str | None = None) -> None:
        self.address = address

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys by which a shared cache purges the answer."""
        return ()

    @property
    def caller(self) -> Caller:
        """The caller. Raises `Unauthenticated` if there is no token, or it is not valid."""
        return current_caller()

    def is_partner(self) -> bool:
        """Returns whether the caller is a partner; a caller without a valid token is none."""
        try:
            return self.caller.is_privileged
        except Unauthenticated:
            return False


class ClientContext(RequestContext):
    """The context of a client's request; the token is not checked before something needs to know the caller."""

    __slots__ = ("_authenticator", "_authorization", "_caller")

    def __init__(self, authenticator: Authenticator, headers: Mapping[bytes, bytes]) -> None:
        address = headers.get(_MARK)
        super().__init__(None if address is None else address.decode("latin-1"))
        self._authenticator = authenticator
        self._authorization = headers.get(b"authorization", b"").decode("latin-1")
        self._caller: Caller | None = None

    @property
    def caller(self) -> Caller:
        if self._caller is None:
            self._caller = self._authenticator.authenticate(self._authorization)
        return self._caller


OpenStream: TypeAlias = Callable[..., Awaitable[AsyncGenerator[StreamExecutionResult]]]
"""Begins to execute a subscription in its context, `context_value`, which holds the document."""


class _Prepared(SchemaExtension):
    """Makes Strawberry execute the context's document, which has already been parsed and validated."""

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
    """Suggests no values: graphql-core's search for them fails on texts whose lower case is longer, like "\u0130"."""

    @classmethod
    def build(cls, *args: Any, **kwargs: Any) -> Any:
        return super().build(*args, **(kwargs | {"hide_suggestions": True}))


class Schema(strawberry.Schema):
    """A schema with the shop's scalars, run by `shop.platform.graphql.endpoint`.

    `further` are other arguments of Strawberry's schema.
    """

    def __init__(self, query: type, mutation: type | None, subscription: type | None = None, **further: Any) -> None:
        further |= {"execution_context_class": _Execution, "config": StrawberryConfig(scalar_map=SCALARS)}
        super().__init__(query, mutation, subscription, extensions=[_Prepared], **further)
        count_lists(core_schema(self))

    async def stream(
        self, query: str | None, *args: Any, context_value: Any = None, operation_name: str | None = None, **kwargs: Any
    ) -> AsyncGenerator[StreamExecutionResult]:
        """Executes an operation and yields its results; each operation of a WebSocket has a separate context."""
        kwargs["operation_name"] = operation_name or None
        open_stream: OpenStream = partial(super().stream, query, *args, **kwargs)
        if isinstance(context_value, RequestContext):
            return await open_stream(context_value=context_value)
        results: AsyncGenerator[StreamExecutionResult] = context_value.follow(open_stream, query, **kwargs)
        return results

    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        """Logs nothing: `shop.platform.graphql.error_format` logs the errors, as it can tell which are unexpected."""


async def refusal(error: RequestError | ShopError) -> AsyncGenerator[StreamExecutionResult]:
    """Yields the result of a refused subscription."""
    errors = error.errors if isinstance(error, RequestError) else [GraphQLError(error.message, original_error=error)]
    yield PreExecutionError(data=None, errors=shown_errors(errors))
