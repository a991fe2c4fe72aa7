"""What lies around every request: its span, its deadline, HEAD, health, and the answer to what nobody expected."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shop.platform.deadline import deadline
from shop.platform.injected_delay import pause
from shop.platform.rest.answers import Answer
from shop.platform.rest.caching import NO_STORE
from shop.platform.rest.problems import IS_HEAD, problem_answer
from shop.platform.rest.tracing import server_span

DEADLINE_HEADER = b"x-envoy-expected-rq-timeout-ms"
DEFAULT_DEADLINE_S = 5.0
LONGEST_DEADLINE_S = 60.0
HEALTH_PATH = "/healthz"

_HEALTHY = Answer(200, b'{"status":"ok"}', [NO_STORE])


class Serving:
    """Middleware around all routes, without a task or a buffer of its own.

    Args:
        app: What answers.
    """

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

        async def pass_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            elif is_head:
                message = {**message, "body": b""}
            await send(message)

        with server_span(scope) as span, deadline(_allowed_s(scope)):
            try:
                await pause()
                await self._app(scope, receive, pass_on)
            except Exception as error:
                if status:
                    raise
                await problem_answer(error, scope["path"])(scope, receive, pass_on)
            route = scope.get("route")
            span.answered(status, route.path_format if route is not None else "")


def _allowed_s(scope: Scope) -> float:
    """Returns the time that the caller allows, in seconds; the default if it says nothing sensible."""
    for key, value in scope["headers"]:
        if key == DEADLINE_HEADER:
            if value.isdigit() and len(value) < 10 and int(value) > 0:
                return min(int(value) / 1000, LONGEST_DEADLINE_S)
            break
    return DEFAULT_DEADLINE_S
