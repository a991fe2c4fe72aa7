"""The gateway as an ASGI application: `/graphql`, and `/healthz`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import orjson
from starlette.middleware.gzip import GZipMiddleware
from strawberry.http.ides import get_graphql_ide_html

from graphql_gateway.context import Context
from graphql_gateway.documents import Documents, PersistedQueryNotFound, RequestError, is_mutation
from graphql_gateway.errors import graphql_errors, not_found_by_hash, shop_error
from graphql_gateway.execution import Execution
from graphql_gateway.loaders import Loaders
from graphql_gateway.request import GraphQLRequest, Refused, from_json, from_query_string, read_body
from graphql_gateway.schema import build_schema
from graphql_gateway.tracing import App, Receive, Scope, Send, Traced, name_operation
from shop.clients import Clients
from shop.errors import DeadlineExceeded, Internal, InvalidArgument, NotFound, ShopError
from shop.platform.auth import TokenVerifier
from shop.platform.deadline import deadline
from shop.platform.telemetry import child_span

ROUTE = "/graphql"
DEADLINE_S = 5.0
GZIP_FROM_BYTES = 1024
GZIP_LEVEL = 3  # measured: as quick as 1 and smaller; 4 takes half as long again

_JSON = b"application/json"
_RESPONSE_JSON = b"application/graphql-response+json"
_LOG = logging.getLogger(__name__)


def build_app(clients: Clients, verifier: TokenVerifier) -> App:
    """Returns the whole application, with compression and tracing around it.

    Args:
        clients: The services.
        verifier: Checks tokens.
    """
    gateway = Gateway(clients, verifier)
    return Traced(GZipMiddleware(gateway, minimum_size=GZIP_FROM_BYTES, compresslevel=GZIP_LEVEL), ROUTE)


class Gateway:
    """Answers HTTP requests; written against ASGI itself, since a request is little more than one execution.

    Args:
        clients: The services.
        verifier: Checks tokens.
    """

    def __init__(self, clients: Clients, verifier: TokenVerifier) -> None:
        schema = build_schema()
        self._clients = clients
        self._verifier = verifier
        self._documents = Documents(schema._schema)
        self._execution = Execution(schema)
        self._graphiql = get_graphql_ide_html(graphql_ide="graphiql").encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request, or the start and end of the server."""
        if scope["type"] == "http":
            if scope["path"] == ROUTE:
                await self._graphql(scope, receive, send)
            elif scope["path"] == "/healthz":
                await _respond(send, 200, b"ok\n", b"text/plain; charset=utf-8")
            else:
                error = NotFound(f"there is nothing at {scope['path'][:100]}; POST {ROUTE} answers queries")
                await _respond(send, 404, _errors([shop_error(error)]), _JSON)
        elif scope["type"] == "lifespan":
            await _live(receive, send)

    async def _graphql(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        try:
            if scope["method"] == "POST":
                request = await _from_post(headers, receive)
            elif scope["method"] == "GET":
                if not scope["query_string"] and b"text/html" in headers.get(b"accept", b""):
                    await _respond(send, 200, self._graphiql, b"text/html; charset=utf-8")
                    return
                request = from_query_string(scope["query_string"])
            else:
                raise _bad_method("only GET and POST are valid", b"GET, POST")
            status, body = await self._answer(request, headers, scope["method"])
        except Refused as refused:
            body = _errors([shop_error(refused.error)])
            await _respond(send, refused.status, body, _JSON, refused.headers)
            return
        if _RESPONSE_JSON in headers.get(b"accept", b""):
            await _respond(send, status, body, _RESPONSE_JSON)
        else:
            # Of application/json, clients expect 200 for whatever was a GraphQL request.
            await _respond(send, 200, body, _JSON)

    async def _answer(self, request: GraphQLRequest, headers: dict[bytes, bytes], method: str) -> tuple[int, bytes]:
        try:
            prepared = self._documents.find(request.query, request.sha256)
            operation = prepared.operation(request.operation_name)
            if method == "GET" and is_mutation(operation):
                raise _bad_method("mutations need POST", b"POST")
            name_operation(operation.operation.value, operation.name.value if operation.name else "")
            prepared.cost.check(request.variables)
        except PersistedQueryNotFound:
            return 200, _errors([not_found_by_hash()])
        except RequestError as error:
            return 400, _errors(graphql_errors(error.errors))
        except ShopError as error:
            return 400, _errors([shop_error(error)])
        authorization = headers.get(b"authorization", b"").decode("latin-1")
        context = Context(self._clients, Loaders(self._clients), self._verifier, authorization)
        limit = _limit(headers)
        try:
            with deadline(limit), child_span("graphql.execute"):
                async with asyncio.timeout(limit):
                    result = await self._execution.run(prepared, operation, request.variables, context)
        except TimeoutError:
            return 200, _errors([shop_error(DeadlineExceeded("the time that the caller allowed is over"))])
        except Exception:
            _LOG.exception("an operation failed")
            return 500, _errors([shop_error(Internal("internal error"))])
        if result.errors is None:
            return 200, orjson.dumps({"data": result.data})
        body = {"errors": graphql_errors(result.errors), "data": result.data}
        # Without a path, the operation did not even begin: a variable is missing, or of the wrong type.
        begun = result.data is not None or any(error.path is not None for error in result.errors)
        return 200 if begun else 400, orjson.dumps(body)


async def _from_post(headers: dict[bytes, bytes], receive: Receive) -> GraphQLRequest:
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind != _JSON:
        error = InvalidArgument(f"the content type is {kind.decode('latin-1')!r}; application/json is valid")
        raise Refused(415, error)
    return from_json(await read_body(receive, headers.get(b"content-length")))


def _limit(headers: dict[bytes, bytes]) -> float:
    allowed = headers.get(b"x-envoy-expected-rq-timeout-ms", b"")
    if allowed.isdigit() and len(allowed) < 8 and int(allowed) > 0:
        return int(allowed) / 1000
    return DEADLINE_S


def _bad_method(message: str, allow: bytes) -> Refused:
    return Refused(405, InvalidArgument(message), ((b"allow", allow),))


def _errors(errors: Sequence[dict[str, Any]]) -> bytes:
    return orjson.dumps({"errors": errors})


async def _respond(
    send: Send, status: int, body: bytes, content_type: bytes, headers: tuple[tuple[bytes, bytes], ...] = ()
) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(b"content-type", content_type), length, *headers],
        }
    )
    await send({"type": "http.response.body", "body": body})


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
