"""What surrounds every request to resources: the sequence of `shop.platform.incoming`, and HEAD."""

from __future__ import annotations

from opentelemetry.trace import Span
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shop.errors import ShopError
from shop.platform.http.request import HttpRequest
from shop.platform.incoming import Incoming
from shop.platform.rest.call import headers_of
from shop.platform.rest.problems import IS_HEAD, problem_answer


class Serving:
    """Middleware around all routes, without a task or buffer of its own.

    Args:
        app: The routes.
        incoming: Answers requests.
    """

    def __init__(self, app: ASGIApp, incoming: Incoming) -> None:
        self._app = app
        self._incoming = incoming

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request (ASGI)."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        else:
            await self._incoming.answer(_Request(self._app, scope, receive, send))


class _Request(HttpRequest):
    __slots__ = ("_app",)

    def __init__(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        super().__init__(scope, receive, send, headers_of(scope))
        self._app = app
        if self.method == "HEAD":
            # A copy: the server reads the method again to know that no body follows.
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
    """Returns a `send` that ends the answer after its headers.

    The server then reports a disconnect to the route, which ends a stream.
    """

    async def send_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            await send(message)
            await send({"type": "http.response.body", "body": b""})

    return send_headers
