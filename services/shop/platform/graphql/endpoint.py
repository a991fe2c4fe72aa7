"""A GraphQL schema over HTTP, as an ASGI application: `/graphql`, and `/graphql/stream` for subscriptions.

A service has a second endpoint for clients, `/graphql/<service>` (`shop.platform.graphql.service`).

Strawberry's own view supports neither persisted queries nor the statuses of application/graphql-response+json, so we
would have to override nearly all of that view. This module ends where Strawberry's `Schema.execute` begins.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence, Set
from contextlib import nullcontext
from typing import Any, TypeAlias

import orjson
from graphql import OperationDefinitionNode
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from shop.errors import DeadlineExceeded, InvalidArgument, NotFound, ShopError
from shop.platform.deadline import lift
from shop.platform.error_codes import row
from shop.platform.graphql import streams
from shop.platform.graphql.documents import Documents, Measure, is_mutation
from shop.platform.graphql.error_format import (
    NOT_FOUND_BY_HASH,
    PersistedQueryNotFound,
    Refused,
    RequestError,
    graphql_errors,
    shop_error,
)
from shop.platform.graphql.execution import Execution, while_awaited
from shop.platform.graphql.request import GraphQLRequest, from_json, from_query_string, read_body
from shop.platform.graphql.schema import RequestContext, Schema, core_schema
from shop.platform.graphql.tracing import name_operation, note_error
from shop.platform.http.caching import NO_STORE, PERSONAL_QUERY, PUBLIC_QUERY, SURROGATE, Header, surrogate_key_header
from shop.platform.http.compression import compress_for
from shop.platform.http.request import HttpRequest
from shop.platform.incoming import Incoming
from shop.platform.telemetry.tracing import child_span

ROUTE = "/graphql"

_JSON = b"application/json"
_EVENTS = b"text/event-stream"
_RESPONSE_JSON = b"application/graphql-response+json"

Headers: TypeAlias = tuple[Header, ...]


class Endpoint:
    """Answers HTTP requests, and WebSockets.

    Args:
        context: Makes the context of a request from its headers; raises a ShopError to refuse the request.
        measure: Computes the cost of a document; None if costs are not limited.
        compresses: Whether large answers are compressed for clients that accept gzip.
        public: Types and fields that everyone may see, as in `shop.platform.graphql.documents.is_public`.
        route: Path of queries and mutations.
    """

    def __init__(
        self,
        schema: Schema,
        context: Callable[[dict[bytes, bytes]], RequestContext],
        incoming: Incoming,
        measure: Measure | None = None,
        *,
        compresses: bool = False,
        public: Set[str] = frozenset(),
        route: str = ROUTE,
    ) -> None:
        self._schema = schema
        self._context = context
        self._incoming = incoming
        self._documents = Documents(core_schema(schema), measure, public=public)
        self._compresses = compresses
        self._sockets = streams.Sockets(schema, context, self._prepare, incoming)
        self._works = {route: self._graphql, streams.ROUTE: self._stream}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._sockets(scope, receive, send)
        else:
            work = self._works.get(scope["path"], _nothing)
            await self._incoming.answer(_GraphQLHttpRequest(work, scope, receive, send))

    async def _graphql(self, request: _GraphQLHttpRequest) -> None:
        received = await _receive(request)
        context = self._context(request.headers)
        status, body, is_public = await self._answer(received, context, request)
        caching = request.caching
        if is_public and request.method == "GET":
            caching = PUBLIC_QUERY
            if context.keys and request.header(SURROGATE):
                caching = (*PUBLIC_QUERY, surrogate_key_header(context.keys))
        accepted = request.header("accept-encoding") if self._compresses else None
        body, encoding = compress_for(body, accepted)
        await request.respond(status, body, encoding, caching)

    async def _stream(self, request: _GraphQLHttpRequest) -> None:
        if _EVENTS not in request.headers.get(b"accept", b""):
            error = InvalidArgument(f"the answer is a stream; accept {_EVENTS.decode()}, or open a WebSocket")
            raise Refused(406, error)
        received, context = await _receive(request), self._context(request.headers)
        try:
            operation = await self._prepare(received, context)
            streams.check_kind(operation, streams=True)
        except (PersistedQueryNotFound, RequestError, ShopError) as error:
            await request.respond(*_refusal(error))
            return
        name_operation(operation)
        lift()
        await streams.event_stream(self._schema, received, context)(request.scope, request.receive, request.send)

    async def _prepare(self, request: GraphQLRequest, context: RequestContext) -> OperationDefinitionNode:
        """Finds a request's document, checks its limits, and gives it to the context."""
        prepared = await self._documents.find(request.query, request.sha256, context.address)
        operation = prepared.operation(request.operation_name)
        cost = None
        if prepared.cost is not None:
            cost = prepared.cost.check(operation, request.variables, context.is_partner)
        context.document, context.is_public = prepared.document, prepared.is_public
        context.execution = Execution(prepared.fields, cost)
        return operation

    async def _answer(
        self, received: GraphQLRequest, context: RequestContext, request: _GraphQLHttpRequest
    ) -> tuple[int, bytes, bool]:
        """Returns the status, the body, and whether the answer is the same for everyone."""
        try:
            operation = await self._prepare(received, context)
            streams.check_kind(operation, streams=False)
            if request.method == "GET" and is_mutation(operation):
                raise _bad_method("mutations need POST", b"POST")
            name_operation(operation)
            # A mutation must not be left half done: it continues until its deadline.
            awaited = nullcontext() if is_mutation(operation) else while_awaited(request.receive, context.execution)
            with child_span("graphql.execute"), awaited:
                result = await self._schema.execute(
                    None, received.variables, context, operation_name=received.operation_name
                )
            if context.execution.error is not None:
                raise context.execution.error
        except (PersistedQueryNotFound, RequestError, ShopError) as error:
            return *_refusal(error), False
        if not result.errors:
            return 200, orjson.dumps({"data": result.data}), context.is_public
        errors = graphql_errors(result.errors)
        note_error(errors[0]["extensions"]["code"])
        # An error without a path means that the operation did not begin: a variable is missing or has the wrong type.
        begun = result.data is not None or any(error.path is not None for error in result.errors)
        return 200 if begun else 400, orjson.dumps({"errors": errors, "data": result.data}), False


class _GraphQLHttpRequest(HttpRequest):
    """One request over HTTP; once it `is_read`, only its execution can be late."""

    __slots__ = ("_media_type", "_queries", "_work", "is_read")

    def __init__(self, work: Work, scope: Scope, receive: Receive, send: Send) -> None:
        super().__init__(scope, receive, send, dict(scope["headers"]))
        self._work = work
        self.is_read = False
        self._queries = work is not _nothing and scope["path"] != streams.ROUTE
        is_new = self._queries and _RESPONSE_JSON in self.headers.get(b"accept", b"")
        self._media_type = _RESPONSE_JSON if is_new else _JSON

    @property
    def route(self) -> str:
        return "" if self._work is _nothing else str(self.scope["path"])

    @property
    def caching(self) -> Headers:
        """How caches may keep an answer that is not the same for everyone."""
        return PERSONAL_QUERY if self.method == "GET" and self._queries else (NO_STORE,)

    async def work(self) -> None:
        try:
            await self._work(self)
        except Refused as refused:
            await self._refuse(refused.status, refused.error, refused.headers)

    async def refuse(self, error: ShopError) -> None:
        if self.is_read and isinstance(error, DeadlineExceeded):
            await self.respond(*_refusal(error), caching=self.caching)
            return
        retry = ((b"retry-after", str(error.retry_after_s).encode()),) if error.retry_after_s else ()
        await self._refuse(row(error).http, error, retry)

    async def respond(self, status: int, body: bytes, headers: Headers = (), caching: Headers = (NO_STORE,)) -> None:
        # With application/json, clients expect 200 for every GraphQL request.
        if self._media_type == _JSON and self._queries:
            status = 200
        await respond(self.send, status, body, self._media_type, headers, caching)

    async def _refuse(self, status: int, error: ShopError, headers: Headers) -> None:
        await respond(self.send, status, _errors([shop_error(error)]), self._media_type, headers)


Work: TypeAlias = Callable[[_GraphQLHttpRequest], Awaitable[None]]


async def _nothing(request: _GraphQLHttpRequest) -> None:
    """Answers requests outside the routes."""
    error = NotFound(f"there is nothing at {request.scope['path'][:100]}; POST {ROUTE} answers queries")
    raise Refused(404, error)


def _refusal(error: PersistedQueryNotFound | RequestError | ShopError) -> tuple[int, bytes]:
    if isinstance(error, PersistedQueryNotFound):
        return 200, _errors([NOT_FOUND_BY_HASH])
    if isinstance(error, RequestError):
        return 400, _errors(graphql_errors(error.errors))
    return 200 if isinstance(error, DeadlineExceeded) else 400, _errors([shop_error(error)])


async def _receive(request: _GraphQLHttpRequest) -> GraphQLRequest:
    if request.method == "POST":
        received = await _from_post(request)
    elif request.method == "GET":
        received = from_query_string(request.scope["query_string"])
    else:
        raise _bad_method("only GET and POST are valid", b"GET, POST")
    request.is_read = True
    return received


async def _from_post(request: _GraphQLHttpRequest) -> GraphQLRequest:
    kind = request.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind != _JSON:
        error = InvalidArgument(f"the content type is {kind.decode('latin-1')!r}; application/json is valid")
        raise Refused(415, error)
    body = Request(request.scope, request.receive)
    return from_json(await read_body(body, request.header("content-length")))


def _bad_method(message: str, allow: bytes) -> Refused:
    return Refused(405, InvalidArgument(message), ((b"allow", allow),))


def _errors(errors: Sequence[dict[str, Any]]) -> bytes:
    note_error(errors[0]["extensions"]["code"])
    return orjson.dumps({"errors": errors})


async def respond(
    send: Send, status: int, body: bytes, content_type: bytes, headers: Headers = (), caching: Headers = (NO_STORE,)
) -> None:
    """Sends a whole answer; no cache keeps it unless `caching` allows that."""
    length = (b"content-length", str(len(body)).encode())
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(b"content-type", content_type), length, *caching, *headers],
        }
    )
    await send({"type": "http.response.body", "body": body})
