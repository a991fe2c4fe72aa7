"""Subscriptions: over a WebSocket (graphql-transport-ws), or as HTTP answers of server-sent events (graphql-sse).

Strawberry implements both protocols; documents have the same limits as over HTTP. A WebSocket needs a valid token
within `HANDSHAKE_S`, and is closed when the token expires.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import ExitStack, aclosing
from datetime import timedelta
from functools import partial
from typing import Any, TypeAlias, cast

import msgspec
import orjson
from graphql import OperationDefinitionNode, OperationType
from opentelemetry.trace import Span
from starlette.responses import Response, StreamingResponse
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState
from strawberry.asgi import ASGIWebSocketAdapter, GraphQL
from strawberry.exceptions import ConnectionRejectionError
from strawberry.http import process_result
from strawberry.http.exceptions import NonJsonMessageReceived, WebSocketDisconnected
from strawberry.http.streaming import SSETransport
from strawberry.subscriptions import GRAPHQL_TRANSPORT_WS_PROTOCOL
from strawberry.types import ExecutionResult
from strawberry.types.execution import StreamExecutionResult
from strawberry.types.unset import UnsetType

from shop.errors import ErrorCode, InvalidArgument, ShopError, Unauthenticated
from shop.platform.access.jwt import EXPIRED
from shop.platform.access.rules import Caller
from shop.platform.access.streams import Quota, expiry
from shop.platform.deadline import DEFAULT_S
from shop.platform.error_codes import row
from shop.platform.graphql.error_format import RequestError, shop_error
from shop.platform.graphql.request import GraphQLRequest
from shop.platform.graphql.schema import OpenStream, RequestContext, Schema, refusal
from shop.platform.graphql.tracing import name_operation, note_error
from shop.platform.incoming import Incoming, Request
from shop.platform.telemetry.metering import MeasuredRequest
from shop.platform.telemetry.meters import Meters
from shop.platform.telemetry.recorder import Attributes, SharedAttributes, shared_attributes

ROUTE = "/graphql/stream"
HANDSHAKE_S = 5
"""A WebSocket that sends no `connection_init` is closed after this time, in seconds."""
MAX_PENDING = 100
"""Maximum number of WebSockets that wait for a token in `connection_init`; a further one closes the oldest."""
MAX_AT_ONCE = 20
"""Maximum number of subscriptions over one WebSocket."""

Prepare = Callable[[GraphQLRequest, RequestContext], Awaitable[OperationDefinitionNode]]
"""Finds the document of a request, checks its limits, and gives it to the request's context."""
Open = Callable[[dict[bytes, bytes]], RequestContext]
"""Makes the context of a request from its headers."""
Results: TypeAlias = AsyncGenerator[StreamExecutionResult]

_SSE = SSETransport()
_SPAN = f"SUBSCRIBE {ROUTE}"
_SPAN_ATTRIBUTES = shared_attributes({"network.protocol.name": "websocket", "http.route": ROUTE})
UNAUTHORIZED = 4401
"""The code that closes a WebSocket without a valid token; after 4403, Strawberry's default, graphql-ws would retry."""
TRY_AGAIN_LATER = 1013
"""The code that closes a WebSocket which the client may open again later; graphql-ws does so by itself."""
MAX_REASON = 100
"""Maximum length of a close reason in characters; the protocol allows 123 bytes."""
_EXPIRED = UNAUTHORIZED, EXPIRED
_TOO_MANY = TRY_AGAIN_LATER, "too many WebSockets wait for their tokens; try again later"


def check_kind(operation: OperationDefinitionNode, *, streams: bool) -> None:
    """Raises `InvalidArgument` if an operation is a stream where none is expected, or is none where one is expected."""
    if (operation.operation is OperationType.SUBSCRIPTION) != streams:
        kind = "queries and mutations" if streams else "subscriptions"
        where = "POST /graphql" if streams else f"{ROUTE}: over a WebSocket, or POST for server-sent events"
        raise InvalidArgument(f"{kind} are not answered here; use {where}", field="query")


def event_stream(schema: Schema, request: GraphQLRequest, context: RequestContext) -> StreamingResponse:
    """Returns the answer to a subscription, whose document is in the context."""

    async def events() -> AsyncGenerator[str]:
        results = await schema.stream(
            None, request.variables, context_value=context, operation_name=request.operation_name
        )
        async with aclosing(results):
            async for result in results:
                yield _SSE.encode_next(process_result(cast(ExecutionResult, result)), _encode)
        yield _SSE.encode_complete()

    return StreamingResponse(events(), headers={**_SSE.headers, "Cache-Control": "no-store, no-transform"})


class _Payload(msgspec.Struct):
    query: str
    variables: dict[str, Any] | None = None
    operationName: str | None = None  # noqa: N815 - named as the protocol names it


class _Message(msgspec.Struct):
    type: str
    id: str = ""
    payload: dict[str, Any] | None = None


class _Messages(ASGIWebSocketAdapter):
    """Passes on to Strawberry only messages of the form that it expects, and gives a reason for each close."""

    async def send_json(self, message: Mapping[str, object]) -> None:
        # Subscriptions end only after the WebSocket has been closed; Strawberry would log an error for each of them.
        if self.ws.application_state is not WebSocketState.DISCONNECTED:
            with contextlib.suppress(WebSocketDisconnected):
                await super().send_json(message)

    async def close(self, code: int, reason: str) -> None:
        error = self.ws.state.subscriptions.refusal
        if error is not None:
            if isinstance(error, Unauthenticated):
                code = UNAUTHORIZED
            elif error.retry_after_s:
                code = TRY_AGAIN_LATER
            reason = error.message[:MAX_REASON]
        await super().close(code, reason)

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

    async def on_ws_connect(self, context: Any) -> UnsetType | dict[str, object] | None:
        try:
            context.admit()
        except ShopError as error:
            context.refusal = error
            raise ConnectionRejectionError from error
        return await super().on_ws_connect(context)

    def decode_json(self, data: str | bytes) -> object:
        return orjson.loads(data)  # which limits the nesting

    def encode_json(self, data: object) -> str:
        return _encode(data)


class Sockets:
    """Answers WebSockets; the Authorization header of a subscription's context may come with `connection_init`."""

    def __init__(self, schema: Schema, open_context: Open, prepare: Prepare, incoming: Incoming) -> None:
        self.open_context = open_context
        self.prepare = prepare
        self.incoming = incoming
        self._quota = Quota("WebSockets")
        self._pending: dict[asyncio.Timeout, None] = {}
        self._view = _View(
            schema,
            graphql_ide=None,
            subscription_protocols=(GRAPHQL_TRANSPORT_WS_PROTOCOL,),
            connection_init_wait_timeout=timedelta(seconds=HANDSHAKE_S),
            max_subscriptions_per_connection=MAX_AT_ONCE,
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handles one WebSocket, from its opening handshake to its end."""
        socket, headers = WebSocket(scope, receive, send), dict(scope["headers"])
        try:
            async with asyncio.timeout(None) as limit:
                with ExitStack() as held:
                    subscriptions = _Subscriptions(self, headers, partial(self._admit, limit, held))
                    socket.state.subscriptions = subscriptions
                    try:
                        if scope["path"] != ROUTE:
                            place = scope["path"][:100]
                            raise InvalidArgument(f"there is no WebSocket at {place}; subscriptions run at {ROUTE}")
                        self.incoming.admit(subscriptions.header)
                        self.open_context(headers)
                        if b"authorization" in headers:
                            subscriptions.admit()
                        else:
                            self._wait(limit, held)
                    except ShopError as error:
                        await socket.send_denial_response(_denial(error))
                        return
                    await self._view.run(socket, context=subscriptions)
        except TimeoutError:
            if not limit.expired():
                raise
            with contextlib.suppress(WebSocketDisconnect):
                if socket.application_state is not WebSocketState.DISCONNECTED:
                    await socket.close(*(_TOO_MANY if subscriptions.caller is None else _EXPIRED))

    def _wait(self, limit: asyncio.Timeout, held: ExitStack) -> None:
        """Lets a WebSocket wait for its token; a full queue closes the WebSocket that has waited longest."""
        if len(self._pending) >= MAX_PENDING:
            longest = next(iter(self._pending))
            del self._pending[longest]
            longest.reschedule(asyncio.get_running_loop().time())
        self._pending[limit] = None
        held.callback(self._pending.pop, limit, None)

    def _admit(self, limit: asyncio.Timeout, held: ExitStack, caller: Caller, counted: Caller | None) -> None:
        """Counts a WebSocket as its caller's until the caller's token expires, unless it is already counted so."""
        if caller != counted:
            held.close()  # the WebSocket no longer waits, or it has sent another caller's token
            held.enter_context(self._quota.hold(caller))
        limit.reschedule(expiry(caller))


def _denial(error: ShopError) -> Response:
    headers = {"cache-control": "no-store"}
    if error.retry_after_s:
        headers["retry-after"] = str(error.retry_after_s)
    body = orjson.dumps({"errors": [shop_error(error)]})
    return Response(body, row(error).http, headers, media_type="application/json")


class _Subscriptions:
    """The context of a WebSocket, whose subscriptions have separate ones; Strawberry sets `connection_params`."""

    def __init__(
        self, sockets: Sockets, headers: dict[bytes, bytes], admit: Callable[[Caller, Caller | None], None]
    ) -> None:
        self.sockets = sockets
        self.connection_params: dict[str, Any] = {}
        self.caller: Caller | None = None
        self.refusal: ShopError | None = None
        self._headers = headers
        self._admit = admit

    def admit(self) -> None:
        """Checks the token that came with the handshake or with `connection_init`, and counts the WebSocket.

        Raises `Unauthenticated` if there is no valid token, and the errors of `Quota.hold`.
        """
        caller = self.context().caller
        self._admit(caller, self.caller)
        self.caller = caller

    def follow(
        self,
        open_stream: OpenStream,
        query: str,
        *,
        variable_values: dict[str, Any] | None,
        operation_name: str | None,
        **_: object,
    ) -> Results:
        """Returns the results of a subscription, or the error that refuses it."""
        asked = GraphQLRequest(query, variable_values or {}, operation_name, None)
        return self.sockets.incoming.follow(_Subscription(self, asked, open_stream))

    def header(self, name: str) -> str | None:
        """Returns the value of a header of the opening handshake; None if there is no such header."""
        value = self._headers.get(name.encode())
        return None if value is None else str(value, "latin-1")

    def context(self) -> RequestContext:
        given = {str(name).lower(): value for name, value in self.connection_params.items()}
        authorization = given.get("authorization")
        headers = self._headers
        if isinstance(authorization, str):
            headers = {**headers, b"authorization": authorization.encode("latin-1", "replace")}
        return self.sockets.open_context(headers)


class _Subscription(Request[Results]):
    """One subscription over a WebSocket, whose headers are those of the opening handshake."""

    __slots__ = ("_asked", "_open_stream", "_socket")

    def __init__(self, socket: _Subscriptions, asked: GraphQLRequest, open_stream: OpenStream) -> None:
        self._socket = socket
        self._asked = asked
        self._open_stream = open_stream

    def header(self, name: str) -> str | None:
        return self._socket.header(name)

    def waits(self) -> float:
        return DEFAULT_S

    def describe_span(self) -> tuple[str, Attributes, SharedAttributes]:
        return _SPAN, None, _SPAN_ATTRIBUTES

    async def work(self) -> Results:
        context = self._socket.context()
        try:
            operation = await self._socket.sockets.prepare(self._asked, context)
            check_kind(operation, streams=True)
        except (RequestError, ShopError) as error:
            return await self.refuse(error)
        name_operation(operation)
        return await self._open_stream(context_value=context)

    async def refuse(self, error: RequestError | ShopError) -> Results:
        note_error(error.code.value if isinstance(error, ShopError) else ErrorCode.INVALID_ARGUMENT.value)
        return refusal(error)

    def end_span(self, span: Span, error: BaseException | None) -> None:
        """Does nothing: a failure is recorded where it is refused, and any client may leave at any time."""

    def measure(self, meters: Meters, asked: MeasuredRequest, error: BaseException | None) -> None:  # noqa: ARG002
        meters.http_server.note(("GET", ROUTE, asked.operation, "101", asked.error), asked.seconds, asked.trace_id)


def _encode(value: object) -> str:
    return orjson.dumps(value).decode()
