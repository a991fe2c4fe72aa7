"""Subscriptions: over a WebSocket (graphql-transport-ws), or one as an HTTP answer of server-sent events (graphql-sse).

Strawberry speaks both; documents have the limits that they have over HTTP.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from datetime import timedelta
from typing import Any, cast

import msgspec
import orjson
from graphql import OperationDefinitionNode, OperationType
from starlette.responses import Response, StreamingResponse
from starlette.websockets import WebSocket
from strawberry.asgi import ASGIWebSocketAdapter, GraphQL
from strawberry.http import process_result
from strawberry.http.exceptions import NonJsonMessageReceived
from strawberry.http.streaming import SSETransport
from strawberry.subscriptions import GRAPHQL_TRANSPORT_WS_PROTOCOL
from strawberry.types import ExecutionResult

from shop.errors import InvalidArgument, ShopError
from shop.platform.deadline import DEFAULT_S, caller_limit
from shop.platform.errors import row
from shop.platform.graphql.error_format import shop_error
from shop.platform.graphql.request import GraphQLRequest
from shop.platform.graphql.schema import RequestContext, Schema, Socket

ROUTE = "/graphql/stream"
HANDSHAKE_S = 5
"""After so long a WebSocket is closed over which no `connection_init` has come, in seconds."""
MOST_AT_ONCE = 20
"""Subscriptions over one WebSocket."""

Prepare = Callable[[GraphQLRequest, RequestContext], Awaitable[OperationDefinitionNode]]
"""Finds the document of a request, checks its limits, and gives it to the request's context."""
Open = Callable[[dict[bytes, bytes]], RequestContext]
"""Makes the context of a request from its headers."""

_SSE = SSETransport()


def check_kind(operation: OperationDefinitionNode, *, streams: bool) -> None:
    """Looks whether an operation is one of those that stream, or one of those that do not.

    Raises:
        InvalidArgument: It is the other kind.
    """
    if (operation.operation is OperationType.SUBSCRIPTION) != streams:
        kind = "queries and mutations" if streams else "subscriptions"
        where = "POST /graphql" if streams else f"{ROUTE}: over a WebSocket, or POST for server-sent events"
        raise InvalidArgument(f"{kind} are not answered here; use {where}", field="query")


def event_stream(schema: Schema, request: GraphQLRequest, context: RequestContext) -> StreamingResponse:
    """Returns the answer to a subscription whose document the context has."""

    async def events() -> AsyncGenerator[str]:
        results = await schema.stream(
            None, request.variables, context_value=context, operation_name=request.operation_name
        )
        async with aclosing(results):
            async for result in results:
                yield _SSE.encode_next(process_result(cast(ExecutionResult, result)), _encoded)
        yield _SSE.encode_complete()

    return StreamingResponse(events(), headers=dict(_SSE.headers))


class _Payload(msgspec.Struct):
    query: str
    variables: dict[str, Any] | None = None
    operationName: str | None = None  # noqa: N815 - named as the protocol names it


class _Message(msgspec.Struct):
    type: str
    id: str = ""
    payload: dict[str, Any] | None = None


class _Messages(ASGIWebSocketAdapter):
    """Messages that have the shape that Strawberry takes for granted."""

    async def iter_json(self, *, ignore_parsing_errors: bool = False) -> AsyncGenerator[object]:
        async for message in super().iter_json(ignore_parsing_errors=ignore_parsing_errors):
            try:
                if msgspec.convert(message, _Message).type == "subscribe":
                    msgspec.convert(cast("dict[str, object]", message).get("payload"), _Payload)
            except msgspec.ValidationError as error:
                raise NonJsonMessageReceived from error
            yield message


class _View(GraphQL[Any, None]):
    websocket_adapter_class = _Messages

    def decode_json(self, data: str | bytes) -> object:
        return orjson.loads(data)  # which bounds the nesting itself

    def encode_json(self, data: object) -> str:
        return _encoded(data)


class Sockets:
    """Answers WebSockets.

    Args:
        schema: Schema that subscriptions are executed against.
        open_context: Makes the context of each subscription; its Authorization header may come with `connection_init`.
        prepare: Finds the document of a subscription.
    """

    def __init__(self, schema: Schema, open_context: Open, prepare: Prepare) -> None:
        self._open = open_context
        self._prepare = prepare
        self._view = _View(
            schema,
            graphql_ide=None,
            subscription_protocols=(GRAPHQL_TRANSPORT_WS_PROTOCOL,),
            connection_init_wait_timeout=timedelta(seconds=HANDSHAKE_S),
            max_subscriptions_per_connection=MOST_AT_ONCE,
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handles one WebSocket, from its opening handshake to its end."""
        socket = WebSocket(scope, receive, send)
        headers = dict(scope["headers"])
        try:
            if scope["path"] != ROUTE:
                raise InvalidArgument(f"there is no WebSocket at {scope['path'][:100]}; subscriptions run at {ROUTE}")
            self._open(headers)
        except ShopError as error:
            body = orjson.dumps({"errors": [shop_error(error)]})
            await socket.send_denial_response(Response(body, row(error).http, media_type="application/json"))
            return
        await self._view.run(socket, context=_Subscriptions(headers, self._open, self._prepare))


class _Subscriptions(Socket):
    def __init__(self, headers: dict[bytes, bytes], open_context: Open, prepare: Prepare) -> None:
        super().__init__()
        self._headers = headers
        self._open = open_context
        self._prepare = prepare

    async def begin(self, query: str, variables: dict[str, Any] | None, operation_name: str | None) -> RequestContext:
        given = {str(name).lower(): value for name, value in self.connection_params.items()}
        authorization = given.get("authorization")
        headers = self._headers
        if isinstance(authorization, str):
            headers = {**headers, b"authorization": authorization.encode("latin-1", "replace")}
        context = self._open(headers)
        async with caller_limit(DEFAULT_S):
            operation = await self._prepare(GraphQLRequest(query, variables or {}, operation_name, None), context)
        check_kind(operation, streams=True)
        return context


def _encoded(value: object) -> str:
    return orjson.dumps(value).decode()
