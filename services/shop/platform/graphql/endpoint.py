"""A GraphQL schema over HTTP, as an ASGI application: `/graphql`, `/graphql/stream` for subscriptions, and `/healthz`.

Strawberry's own view has no place for persisted queries, nor for the statuses of application/graphql-response+json,
so that nearly all of it would be overridden; what is done here ends where Strawberry's `Schema.execute` begins.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence, Set
from contextlib import nullcontext
from typing import Any, TypeAlias

import orjson
from graphql import OperationDefinitionNode

from shop.errors import DeadlineExceeded, Internal, InvalidArgument, NotFound, ShopError, Unavailable
from shop.platform.admission import ADMISSION, PRIORITY
from shop.platform.config import EDGE_MARK
from shop.platform.deadline import DEADLINE_HEADER, caller_limit, caller_timeout_s, deadline, work_s
from shop.platform.errors import row
from shop.platform.graphql import streams
from shop.platform.graphql.departure import while_awaited
from shop.platform.graphql.documents import Documents, Measure, is_mutation
from shop.platform.graphql.error_format import graphql_errors, not_found_by_hash, shop_error
from shop.platform.graphql.errors import PersistedQueryNotFound, Refused, RequestError
from shop.platform.graphql.execution import Execution
from shop.platform.graphql.internals import core_schema
from shop.platform.graphql.limits import first_field, name_of
from shop.platform.graphql.request import GraphQLRequest, from_json, from_query_string, read_body
from shop.platform.graphql.schema import RequestContext, Schema
from shop.platform.graphql.tracing import Receive, Scope, Send, name_operation, note_error
from shop.platform.http.caching import NO_STORE, PERSONAL_QUERY, PUBLIC_QUERY, Header
from shop.platform.http.compression import SMALLEST_BYTES, accepts_gzip, gzip
from shop.platform.telemetry.metering import METERS, tell
from shop.platform.telemetry.tracing import child_span

ROUTE = "/graphql"

_LOG = logging.getLogger(__name__)
_DEADLINE, _MARK, _PRIORITY = DEADLINE_HEADER.encode(), EDGE_MARK.encode(), PRIORITY.encode()
_JSON = b"application/json"
_EVENTS = b"text/event-stream"
_RESPONSE_JSON = b"application/graphql-response+json"

Headers: TypeAlias = tuple[Header, ...]


class Endpoint:
    """Answers HTTP requests.

    Args:
        schema: Schema that queries are executed against.
        context: Makes the context of a request from its headers; raises a ShopError to refuse the request.
        measure: Works out the cost of a document; None where costs are not limited.
        compresses: Whether large answers are compressed for clients that accept gzip.
        public: What everyone may see, as in `shop.platform.graphql.public.is_public`.
    """

    def __init__(
        self,
        schema: Schema,
        context: Callable[[dict[bytes, bytes]], RequestContext],
        measure: Measure | None = None,
        *,
        compresses: bool = False,
        public: Set[str] = frozenset(),
    ) -> None:
        self._schema = schema
        self._context = context
        self._documents = Documents(core_schema(schema), measure, public=public)
        self._compresses = compresses
        self._sockets = streams.Sockets(schema, context, self._prepare)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request, or the start and end of the server."""
        if scope["type"] == "websocket":
            await self._sockets(scope, receive, send)
        elif scope["type"] == "http":
            if scope["path"] == ROUTE:
                await self._graphql(scope, receive, send)
            elif scope["path"] == streams.ROUTE:
                await self._stream(scope, receive, send)
            elif scope["path"] == "/healthz":
                await respond(send, 200, b"ok\n", b"text/plain; charset=utf-8")
            else:
                error = NotFound(f"there is nothing at {scope['path'][:100]}; POST {ROUTE} answers queries")
                await respond(send, 404, _errors([shop_error(error)]), _JSON)
        elif scope["type"] == "lifespan":
            await _live(receive, send)

    async def _graphql(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        media_type = _RESPONSE_JSON if _RESPONSE_JSON in headers.get(b"accept", b"") else _JSON
        try:
            if ADMISSION and _MARK in headers:
                _admit(headers)
            request = await _received(scope, headers, receive)
            context = self._context(headers)
            status, body, is_public = await self._answer(request, context, headers, scope["method"], receive)
        except Exception as error:
            await _refuse(send, error, media_type)
            return
        caching: Headers = (NO_STORE,)
        if scope["method"] == "GET":
            caching = PUBLIC_QUERY if is_public else PERSONAL_QUERY
        body, encoding = self._encoded(body, headers)
        # Of application/json, clients expect 200 for any GraphQL request.
        await respond(send, status if media_type == _RESPONSE_JSON else 200, body, media_type, encoding, caching)

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        try:
            if _EVENTS not in headers.get(b"accept", b""):
                error = InvalidArgument(f"the answer is a stream; accept {_EVENTS.decode()}, or open a WebSocket")
                raise Refused(406, error)
            if ADMISSION and _MARK in headers:
                _admit(headers)
            request, context = await _received(scope, headers, receive), self._context(headers)
            try:
                async with caller_limit(_waits(headers)):
                    streams.check_kind(await self._prepare(request, context), streams=True)
            except (PersistedQueryNotFound, RequestError, ShopError) as error:
                await respond(send, *_unprepared(error), _JSON)
                return
        except Exception as error:
            await _refuse(send, error, _JSON)
            return
        await streams.event_stream(self._schema, request, context)(scope, receive, send)

    async def _prepare(self, request: GraphQLRequest, context: RequestContext) -> OperationDefinitionNode:
        """Finds a request's document, checks its limits, and gives it to the context."""
        prepared = await self._documents.find(request.query, request.sha256)
        operation = prepared.operation(request.operation_name)
        cost = None
        if prepared.cost is not None:
            cost = prepared.cost.of(operation, request.variables)
            context.check_cost(cost, operation)
        context.document, context.is_public = prepared.document, prepared.is_public
        context.execution = Execution(prepared.fields, cost)
        return operation

    def _encoded(self, body: bytes, headers: dict[bytes, bytes]) -> tuple[bytes, Headers]:
        if not self._compresses or len(body) < SMALLEST_BYTES:
            return body, ()
        if not accepts_gzip(headers.get(b"accept-encoding", b"").decode("latin-1")):
            return body, ()
        return gzip(body), ((b"content-encoding", b"gzip"),)

    async def _answer(
        self,
        request: GraphQLRequest,
        context: RequestContext,
        headers: dict[bytes, bytes],
        method: str,
        receive: Receive,
    ) -> tuple[int, bytes, bool]:
        """Returns the status, the body, and whether everyone would get the same."""
        try:
            async with caller_limit(_waits(headers)):
                operation = await self._prepare(request, context)
                streams.check_kind(operation, streams=False)
                if method == "GET" and is_mutation(operation):
                    raise _bad_method("mutations need POST", b"POST")
                name_operation(operation.operation.value, name_of(operation))
                if METERS:
                    tell(operation=first_field(operation))
                # A mutation is not left half done: it continues until its deadline.
                awaited = nullcontext() if is_mutation(operation) else while_awaited(receive, context.execution)
                with child_span("graphql.execute"), awaited:
                    result = await self._schema.execute(
                        None, request.variables, context, operation_name=request.operation_name
                    )
                if context.execution.error is not None:
                    raise context.execution.error
        except (PersistedQueryNotFound, RequestError, ShopError) as error:
            return *_unprepared(error), False
        if not result.errors:
            return 200, orjson.dumps({"data": result.data}), context.is_public
        errors = graphql_errors(result.errors)
        note_error(errors[0]["extensions"]["code"])
        # Without a path, the operation did not even begin: a variable is missing, or of the wrong type.
        begun = result.data is not None or any(error.path is not None for error in result.errors)
        return 200 if begun else 400, orjson.dumps({"errors": errors, "data": result.data}), False


def _unprepared(error: PersistedQueryNotFound | RequestError | ShopError) -> tuple[int, bytes]:
    if isinstance(error, PersistedQueryNotFound):
        return 200, _errors([not_found_by_hash()])
    if isinstance(error, RequestError):
        return 400, _errors(graphql_errors(error.errors))
    return 200 if isinstance(error, DeadlineExceeded) else 400, _errors([shop_error(error)])


async def _refuse(send: Send, error: Exception, media_type: bytes) -> None:
    if isinstance(error, ShopError):
        error = Refused(row(error).http, error)
    if isinstance(error, Refused):
        await respond(send, error.status, _errors([shop_error(error.error)]), media_type, error.headers)
    else:
        _LOG.error("a request failed", exc_info=error)
        await respond(send, 500, _errors([shop_error(Internal("internal error"))]), media_type)


def _admit(headers: dict[bytes, bytes]) -> None:
    try:
        ADMISSION[0].admit(headers.get(_PRIORITY))
    except Unavailable as error:
        raise Refused(503, error, ((b"retry-after", str(error.retry_after_s).encode()),)) from error


async def _received(scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> GraphQLRequest:
    if scope["method"] == "POST":
        with deadline(work_s(_waits(headers))):
            return await _from_post(headers, receive)
    if scope["method"] == "GET":
        return from_query_string(scope["query_string"])
    raise _bad_method("only GET and POST are valid", b"GET, POST")


async def _from_post(headers: dict[bytes, bytes], receive: Receive) -> GraphQLRequest:
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind != _JSON:
        error = InvalidArgument(f"the content type is {kind.decode('latin-1')!r}; application/json is valid")
        raise Refused(415, error)
    return from_json(await read_body(receive, headers.get(b"content-length", b"").decode("latin-1")))


def _waits(headers: dict[bytes, bytes]) -> float:
    """Returns how long the caller waits, in seconds."""
    return caller_timeout_s(headers.get(_DEADLINE, b"").decode("latin-1"))


def _bad_method(message: str, allow: bytes) -> Refused:
    return Refused(405, InvalidArgument(message), ((b"allow", allow),))


def _errors(errors: Sequence[dict[str, Any]]) -> bytes:
    note_error(errors[0]["extensions"]["code"])
    return orjson.dumps({"errors": errors})


async def respond(
    send: Send, status: int, body: bytes, content_type: bytes, headers: Headers = (), caching: Headers = (NO_STORE,)
) -> None:
    """Sends a whole answer; unless `caching` says otherwise, no cache keeps it."""
    length = (b"content-length", str(len(body)).encode())
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(b"content-type", content_type), length, *caching, *headers],
        }
    )
    await send({"type": "http.response.body", "body": body})


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
