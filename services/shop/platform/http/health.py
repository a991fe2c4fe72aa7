"""`/healthz` of every HTTP server. Health checks are not traced, measured or refused."""

from __future__ import annotations

from collections.abc import Awaitable

from starlette.types import ASGIApp, Receive, Scope, Send

from shop.platform.http.caching import NO_STORE

PATH = "/healthz"
_BODY = b"ok\n"
_HEADERS = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(_BODY)), NO_STORE]


def with_health(app: ASGIApp) -> ASGIApp:
    """Returns an application that answers health checks, and passes all other requests to the given application."""

    # Not a coroutine function, so that it adds no coroutine to other requests.
    def answer(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        return _answer(send) if scope.get("path") == PATH else app(scope, receive, send)

    return answer


async def _answer(send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": _BODY})
