"""What surrounds every request: its span, its deadline, HEAD, health checks, and answers to unexpected errors."""

from __future__ import annotations

from collections.abc import Awaitable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shop.platform.admission import ADMISSION, PRIORITY
from shop.platform.config import EDGE_MARK
from shop.platform.deadline import DEADLINE_HEADER, DEFAULT_S, caller_limit, caller_timeout_s
from shop.platform.http.caching import NO_STORE
from shop.platform.process.injected_delay import INJECTED, pause
from shop.platform.rest.answers import Answer
from shop.platform.rest.call import headers_of
from shop.platform.rest.problems import IS_HEAD, problem_answer
from shop.platform.rest.tracing import server_span
from shop.platform.telemetry.tracing import note_busy

HEALTH_PATH = "/healthz"

_DEADLINE, _MARK, _PRIORITY = DEADLINE_HEADER.encode(), EDGE_MARK.encode(), PRIORITY.encode()
_HEALTHY: Answer[None] = Answer(200, b'{"status":"ok"}', [NO_STORE])


class Serving:
    """Middleware around all routes, without a task or buffer of its own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request (ASGI)."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["path"] == HEALTH_PATH:
            await _HEALTHY(scope, receive, send)
            return
        status = 0
        is_head = scope["method"] == "HEAD"
        if is_head:
            # A copy: the server reads the method again to know that no body follows.
            scope = {**scope, "method": "GET", IS_HEAD: True}
            send = _headers_only(send)

        # Not a coroutine function: it would make one for each message.
        def pass_on(message: Message) -> Awaitable[None]:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            return send(message)

        headers = headers_of(scope)
        allowed = headers.get(_DEADLINE)
        waits = DEFAULT_S if allowed is None else caller_timeout_s(str(allowed, "latin-1"))
        span = server_span(scope, headers)
        if span is None:
            note_busy()
        try:
            try:
                async with caller_limit(waits):
                    if ADMISSION and _MARK in headers:
                        ADMISSION[0].admit(headers.get(_PRIORITY))
                    if INJECTED:
                        await pause()
                    await self._app(scope, receive, pass_on)
            except Exception as error:
                if status:
                    raise
                await problem_answer(error, scope["path"])(scope, receive, pass_on)
            if span is not None:
                route = scope.get("route")
                span.answered(status, route.path_format if route is not None else "")
        finally:
            note_busy()
            if span is not None:
                span.leave()


def _headers_only(send: Send) -> Send:
    """Returns a `send` that ends the answer after its headers.

    The server then reports a disconnect to the route, which ends a stream.
    """

    async def send_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            await send(message)
            await send({"type": "http.response.body", "body": b""})

    return send_headers
