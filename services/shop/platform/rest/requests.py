"""How a request gets from the server to the function that answers it.

- `Serving` takes it through the sequence of `shop.platform.incoming`, and answers HEAD.
- `ShopRoute` checks the caller, the query and the media type of the body, before FastAPI binds and validates.
- `RestCall` is the request that the function gets.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any

from fastapi.routing import APIRoute
from opentelemetry.trace import Span
from starlette.convertors import StringConvertor
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shop.contract.calls import Access
from shop.errors import InvalidArgument, ShopError
from shop.platform.access.rules import Authenticator
from shop.platform.http import strict_json
from shop.platform.http.body import limited_body
from shop.platform.http.request import HttpRequest
from shop.platform.incoming import Incoming
from shop.platform.rest.openapi import ACCESS_KEY
from shop.platform.rest.parameters import IDEMPOTENCY_KEY, check_query
from shop.platform.rest.problems import IS_HEAD, FieldError, HttpProblem, InvalidRequest, problem_answer

_FIRST_VALUES = "shop.headers"


def first_headers(scope: Scope) -> dict[bytes, bytes]:
    """Returns the headers of a request by their names in lower case; the first of a repeated header counts."""
    values: dict[bytes, bytes] | None = scope.get(_FIRST_VALUES)
    if values is None:
        values = scope[_FIRST_VALUES] = dict(reversed(scope["headers"]))
    return values


class Serving:
    """Middleware around all routes, which needs no additional task and no buffer."""

    def __init__(self, app: ASGIApp, incoming: Incoming) -> None:
        self._app = app
        self._incoming = incoming

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._incoming.answer(_RestRequest(self._app, scope, receive, send))


class _RestRequest(HttpRequest):
    __slots__ = ("_app",)

    def __init__(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        super().__init__(scope, receive, send, first_headers(scope))
        self._app = app
        if self.method == "HEAD":
            # This changes a copy: the server reads the method again to know that the answer has no body.
            self.scope = {**scope, "method": "GET", IS_HEAD: True}
            self._send = _headers_only(send)

    @property
    def route(self) -> str:
        route = self.scope.get("route")
        return "" if route is None else str(route.path_format)

    async def work(self) -> None:
        await self._app(self.scope, self.receive, self.send)

    async def refuse(self, error: ShopError) -> None:
        await problem_answer(error, self.scope["path"])(self.scope, self.receive, self.send)

    def end_span(self, span: Span, error: BaseException | None) -> None:
        super().end_span(span, error)
        if self.status >= 500:
            span.set_attribute("error.type", str(self.status))


def _headers_only(send: Send) -> Send:
    """Returns a `send` that ends the answer after its headers; the server then reports a disconnect to the route."""

    async def send_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            await send(message)
            await send({"type": "http.response.body", "body": b""})

    return send_headers


class NameConvertor(StringConvertor):
    """One path segment without a colon, so that `/v1/orders/1:cancel` is not an order named "1:cancel"."""

    regex = "[^/:]+"


def route_class(authenticator: Authenticator) -> type[APIRoute]:
    """Returns the class of the routes of an API.

    The checks are here and not in FastAPI's dependencies, because FastAPI reads and decodes the body before it runs
    dependencies. A caller who is not admitted should learn nothing and cost nothing.
    """

    origin = authenticator.origin_header.encode()

    class ShopRoute(APIRoute):
        """A route that admits callers as its `x-access` says, and accepts only documented query parameters and JSON."""

        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()
            access = Access((self.openapi_extra or {}).get(ACCESS_KEY, Access.EVERYBODY))
            known = [field.alias for field in self.dependant.query_params]
            takes_body = self.body_field is not None
            takes_key = any(field.alias == IDEMPOTENCY_KEY for field in self.dependant.header_params)

            async def answer(request: Request) -> Response:
                call = RestCall(request.scope, request.receive)
                authenticator.admit(access, call.header(b"authorization"), call.last_header(origin))
                raw: bytes = call.scope["query_string"]
                if raw:
                    check_query(raw, known)
                if takes_key:
                    _check_key(call)
                if takes_body:
                    _check_media_type(call)
                return await handle(call)

            return answer

    return ShopRoute


def _check_key(call: RestCall) -> None:
    """Refuses a request with several idempotency keys: if we chose a key, a retry with another key would buy again."""
    name = IDEMPOTENCY_KEY.lower().encode()
    if sum(header == name for header, _ in call.scope["headers"]) > 1:
        raise InvalidRequest([FieldError(IDEMPOTENCY_KEY, "this header is given twice; give it once")])


def _check_media_type(call: RestCall) -> None:
    media_type = (call.header(b"content-type") or "").partition(";")[0].strip().lower()
    application, _, kind = media_type.partition("/")
    if application != "application" or not (kind == "json" or kind.endswith("+json")):
        raise HttpProblem(415, "the body must be JSON: send the header Content-Type: application/json")
    if (call.header(b"content-encoding") or "identity").strip().lower() != "identity":
        raise HttpProblem(415, "the body must not be compressed; send it without Content-Encoding")


class RestCall(Request):
    """A request that looks up a header in one step, and limits its body in size and time."""

    def header(self, name: bytes) -> str | None:
        """Returns the value of a header, named in lower case; the first of a repeated header counts."""
        value = first_headers(self.scope).get(name)
        return None if value is None else str(value, "latin-1")

    def last_header(self, name: bytes) -> str | None:
        """Returns the value of a header; the last of a repeated header counts."""
        if name not in first_headers(self.scope):
            return None
        return str(dict(self.scope["headers"])[name], "latin-1")

    async def json(self) -> Any:
        """Returns the value of a JSON body; raises the errors of `strict_json.loads`, one as `InvalidRequest`."""
        try:
            return strict_json.loads(await self.body())
        except InvalidArgument as error:
            raise InvalidRequest([FieldError(error.field, error.message)]) from error

    async def stream(self) -> AsyncGenerator[bytes]:
        """Yields the body as it arrives; raises the errors of `limited_body`."""
        async for chunk in limited_body(super().stream(), self.header(b"content-length")):
            yield chunk
